package contexts

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

// Adding, choosing, listing and removing, as a user does it one after the other.
func TestContextsFromBeginningToEnd(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Chdir(home)
	if err := os.WriteFile("prod.token", []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(cmd interface{ Run(*verbs.App) error }) (string, error) {
		var out bytes.Buffer
		err := cmd.Run(&verbs.App{Stdout: &out})
		return out.String(), err
	}
	expect := func(want string, cmd interface{ Run(*verbs.App) error }) string {
		t.Helper()
		out, err := run(cmd)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%+v printed %q, %v; want %q", cmd, out, err, want)
		}
		return out
	}
	refused := func(want string, cmd interface{ Run(*verbs.App) error }) {
		t.Helper()
		if out, err := run(cmd); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v printed %q, %v; want an error with %q", cmd, out, err, want)
		}
	}

	expect("no contexts; `tidemark context add", &listCmd{})
	refused("tidemark context add prod", &useCmd{Context: "prod"})
	expect("`tidemark context use prod` makes it the one in use", &addCmd{Name: "prod", Addr: "https://prod:8443", TokenFile: "prod.token"})
	expect("it is in use", &addCmd{Name: "dev", Addr: "http://dev:8080", Use: true})
	refused("already", &addCmd{Name: "dev", Addr: "http://other:8080"})
	refused("not a name", &addCmd{Name: "two words", Addr: "http://other:8080"})
	expect("the context prod is in use: https://prod:8443", &useCmd{Context: "prod"})
	refused("nearest", &removeCmd{Context: "prd"})

	list := expect("*  prod", &listCmd{})
	if !strings.Contains(list, "http://dev:8080") || strings.Index(list, "dev") > strings.Index(list, "prod") || strings.Contains(list, "secret") {
		t.Errorf("the list is\n%s", list)
	}
	listing := &listCmd{}
	listing.JSON = true
	var got []info
	for d := json.NewDecoder(strings.NewReader(expect("prod", listing))); d.More(); {
		var x info
		if err := d.Decode(&x); err != nil {
			t.Fatal(err)
		}
		got = append(got, x)
	}
	token := filepath.Join(home, "prod.token") // as verbs that run in other folders find it
	want := []info{
		{"dev", verbs.Context{Addr: "http://dev:8080"}, false},
		{"prod", verbs.Context{Addr: "https://prod:8443", TokenFile: token}, true},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("as JSON: %+v, want %+v", got, want)
	}

	expect("; no context is in use", &removeCmd{Context: "prod"})
	if _, err := os.Stat("prod.token"); err != nil {
		t.Errorf("the token's file is gone with the context: %v", err)
	}
	expect("the context dev is in use", &useCmd{Context: "dev"})
	expect("no context is in use", &useCmd{None: true})
	if list := expect("dev", &listCmd{}); strings.Contains(list, "*") {
		t.Errorf("no context is in use, and the list is\n%s", list)
	}
}

func TestUseNamesOneThing(t *testing.T) {
	for _, x := range []struct {
		cmd useCmd
		ok  bool
	}{{useCmd{}, false}, {useCmd{Context: "a", None: true}, false}, {useCmd{Context: "a"}, true}, {useCmd{None: true}, true}} {
		if err := x.cmd.Validate(); (err == nil) != x.ok {
			t.Errorf("%+v: %v", x.cmd, err)
		}
	}
}
