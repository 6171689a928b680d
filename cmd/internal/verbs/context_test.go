package verbs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

// home is a user without contexts, with a token in a file, whose path it returns.
func home(t *testing.T) (token string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	token = filepath.Join(dir, "prod.token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return token
}

// callers are a verb that asks a node, one that destroys there, and one that may do without a node.
type callers struct {
	Ask   struct{ verbs.NodeFlags } `cmd:""`
	Erase struct {
		verbs.NodeFlags
		verbs.YesFlag
	} `cmd:""`
	Stores struct{ verbs.RunningFlags } `cmd:""`
}

func calling(t *testing.T, args ...string) (c callers, err error) {
	t.Helper()
	k, err := kong.New(&c, kong.Name("tidemark"), kong.DefaultEnvars("TIDEMARK"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Parse(args)
	return c, err
}

// contexts writes prod, with a token, and dev; current is in use.
func contexts(t *testing.T, current string) (token string) {
	t.Helper()
	token = home(t)
	c, err := verbs.LoadContexts()
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]verbs.Context{"prod": {Addr: "https://prod:1", TokenFile: token}, "dev": {Addr: "http://dev:1"}} {
		if err := c.Add(name, n); err != nil {
			t.Fatal(err)
		}
	}
	c.Current = current
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	return token
}

func TestContextGivesAddressAndToken(t *testing.T) {
	token := contexts(t, "prod")
	for _, c := range []struct {
		args, env              string // env: of TIDEMARK_ADDR
		addr, tokenFile, named string
	}{
		{"ask", "", "https://prod:1", token, "prod"},
		{"ask --context dev", "", "http://dev:1", "", "dev"},
		{"ask --context dev", "http://env:1", "http://dev:1", "", "dev"},
		{"ask", "http://env:1", "http://env:1", "", ""},
		{"ask --addr http://line:1", "http://env:1", "http://line:1", "", ""},
		{"ask --context prod --token-file /dev/null", "", "https://prod:1", "/dev/null", "prod"},
		{"erase --context prod", "", "https://prod:1", token, "prod"},
		{"erase --addr http://line:1", "", "http://line:1", "", ""},
	} {
		t.Run(c.args+c.env, func(t *testing.T) {
			if c.env != "" {
				t.Setenv("TIDEMARK_ADDR", c.env)
			}
			got, err := calling(t, strings.Fields(c.args)...)
			f := got.Ask.NodeFlags
			if strings.HasPrefix(c.args, "erase") {
				f = got.Erase.NodeFlags
			}
			if err != nil || f.Addr != c.addr || f.TokenFile != c.tokenFile || f.Context != c.named {
				t.Errorf("%+v, %v", f, err)
			}
		})
	}
	t.Setenv("TIDEMARK_CONTEXT", "dev")
	if got, err := calling(t, "ask"); err != nil || got.Ask.Addr != "http://dev:1" {
		t.Errorf("the context of the environment: %+v, %v", got.Ask, err)
	}
}

// A verb that has a meaning without a node keeps it, whatever context is in use.
func TestStoresAreMeantWithoutANode(t *testing.T) {
	contexts(t, "prod")
	t.Setenv("TIDEMARK_CONTEXT", "prod")
	if got, err := calling(t, "stores"); err != nil || got.Stores.Node != "" || got.Stores.TokenFile != "" {
		t.Errorf("%+v, %v", got.Stores, err)
	}
	if got, err := calling(t, "stores", "--context", "dev"); err != nil || got.Stores.Node != "http://dev:1" {
		t.Errorf("%+v, %v", got.Stores, err)
	}
}

func TestContextsAreRefused(t *testing.T) {
	contexts(t, "prod")
	for args, want := range map[string]string{
		"ask --context prodd":                    "the nearest is prod",
		"ask --context prod --addr http://a:1":   "leave one of them out",
		"stores --context dev --node http://a:1": "leave one of them out",
		"erase":                                  "erase does not use the current context by itself: name it with --context prod, or name the node with --addr",
	} {
		if _, err := calling(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	home(t)
	if _, err := calling(t, "ask", "--context", "prod"); err == nil || !strings.Contains(err.Error(), "tidemark context add prod") {
		t.Errorf("without contexts: %v", err)
	}
	path, err := verbs.ContextsFile()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("contexts: {prod: {token: hunter2}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := calling(t, "ask"); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a token in the file: %v", err)
	}
	if _, err := calling(t, "ask", "--addr", "http://a:1"); err != nil {
		t.Errorf("a file that is not needed: %v", err)
	}
}
