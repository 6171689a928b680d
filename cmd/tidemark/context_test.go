package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

func TestContexts(t *testing.T) {
	dir, nobody := t.TempDir(), closedPort(t)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	token := filepath.Join(dir, "token")
	must(os.WriteFile(token, []byte("hunter2\n"), 0o600))

	if out := ok(t, "", "context", "list"); !strings.Contains(out, "tidemark context add") {
		t.Errorf("none: %q", out)
	}
	ok(t, "", "context", "add", "dev", "--addr", "http://127.0.0.1:8080")
	ok(t, "", "context", "add", "prod", "--addr", "http://"+nobody, "--token-file", token, "--use")
	for args, want := range map[string]string{
		"context add prod --addr http://a:1":                    "tidemark context remove prod",
		"context add p/q --addr http://a:1":                     "not a name of a context",
		"context add new --addr a:1":                            "http://127.0.0.1:8080",
		"context add new --addr http://ann:hunter2@a:1":         "--token-file",
		"context add new --addr http://a:1 --token-file /no/no": "/no/no",
		"context use":            "--none",
		"context use dev --none": "--none",
	} {
		if r := tidemark(t, "", strings.Fields(args)...); r.code != exitUsage || !strings.Contains(r.errout, want) || strings.Contains(r.errout, "hunter2") {
			t.Errorf("%s: %+v, want %q", args, r, want)
		}
	}
	// The verbs ask it, and say where they asked.
	r := tidemark(t, "", "query", "unread", "ann", "general")
	if r.code != exitFailed || !strings.Contains(r.errout, nobody+" (context prod)") {
		t.Errorf("%+v", r)
	}
	if r := tidemark(t, "", "erase-user", "--user", "ann", "--dry-run"); r.code != exitUsage || !strings.Contains(r.errout, "--context prod") {
		t.Errorf("%+v", r)
	}
	if out := ok(t, "", "context", "list"); !strings.Contains(out, "*  prod") || strings.Contains(out, "hunter2") {
		t.Errorf("list:\n%s", out)
	}
	var prod struct {
		Name      string
		TokenFile string `json:"token_file"`
		Current   bool
	}
	if l := lines(ok(t, "", "context", "list", "--json")); len(l) != 2 || json.Unmarshal([]byte(l[1]), &prod) != nil || prod.Name != "prod" || prod.TokenFile != token || !prod.Current {
		t.Errorf("--json: %q", l)
	}
	if out := ok(t, "", "complete", "--", "query", "unread", "--context", "p"); !strings.HasPrefix(out, "prod") {
		t.Errorf("complete: %q", out)
	}
	path, err := verbs.ContextsFile()
	must(err)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}

	ok(t, "", "context", "use", "dev")
	ok(t, "", "context", "use", "--none")
	if out := ok(t, "", "context", "list"); strings.Contains(out, "*") {
		t.Errorf("none in use:\n%s", out)
	}
	ok(t, "", "context", "use", "prod")
	if out := ok(t, "", "context", "remove", "prod"); !strings.Contains(out, "no context is in use") {
		t.Errorf("%q", out)
	}
	if r := tidemark(t, "", "context", "remove", "prod"); r.code != exitFailed || !strings.Contains(r.errout, "the nearest is dev") {
		t.Errorf("%+v", r)
	}
}

// run takes its settings from a file, which is checked before anything starts.
func TestRunWithAFile(t *testing.T) {
	nobody := closedPort(t)
	path := filepath.Join(t.TempDir(), "tidemark.yml")
	must(os.WriteFile(path, []byte("brokers: ["+nobody+"]\nlisten: 127.0.0.1:0\nmemory: 1GiB\n"), 0o600))
	if r := tidemark(t, "", "run", "--config", path); r.code != exitFailed || !strings.Contains(r.errout, "no Kafka broker answers at "+nobody) {
		t.Errorf("%+v", r)
	}
	must(os.WriteFile(path, []byte("brokers: ["+nobody+"]\n\nlistn: 127.0.0.1:0\n"), 0o600))
	want := `tidemark: --config: ` + path + `:3: there is no setting "listn": the nearest is listen; ` + "`tidemark run --help` has the usage\n"
	if r := tidemark(t, "", "run", "--config", path); r.code != exitUsage || r.errout != want {
		t.Errorf("%+v", r)
	}
}
