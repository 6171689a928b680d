package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRedisOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("from the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := Redis{URL: "redis://bob:inline@127.0.0.1:7000/3", PasswordFile: file}.Options()
	if err != nil || o.Addr != "127.0.0.1:7000" || o.DB != 3 || o.Username != "bob" || o.Password != "from the file" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := (Redis{URL: "redis://x", PasswordFile: file + "-not"}).Options(); err == nil || !strings.Contains(err.Error(), "-not") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestErrorsAboutRedisHideItsPassword(t *testing.T) {
	for _, u := range []string{"http://bob:hunter2@127.0.0.1:1", "redis://bob:hunter2@127.0.0.1:1/x"} {
		_, err := Redis{URL: u}.Options()
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "redis://127.0.0.1:6379") {
			t.Errorf("%s: %v", u, err)
		}
	}
	if got := Redacted("redis://bob:hunter2@h:1"); strings.Contains(got, "hunter2") || !strings.Contains(got, "bob") {
		t.Errorf("redacted: %s", got)
	}
}

func TestPasswordInURL(t *testing.T) {
	for u, want := range map[string]bool{
		"redis://127.0.0.1:6379": false, "redis://bob@h:1": false, "redis://bob:pw@h:1": true, "redis://:pw@h:1": true, "%": false,
	} {
		if got := PasswordInURL(u); got != want {
			t.Errorf("%s: %t", u, got)
		}
	}
}
