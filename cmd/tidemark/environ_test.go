package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Variables that no verb reads are named with what may have been meant, once, by every verb.
func TestMisspeltVariablesAreNamed(t *testing.T) {
	for name, want := range map[string]string{
		"TIDEMARK_BROKER":      "the nearest is TIDEMARK_BROKERS",
		"TIDEMARK_DATADIR":     "the nearest is TIDEMARK_DATA_DIR",
		"TIDEMARK_KAFKA_PASWD": "the nearest is TIDEMARK_KAFKA_PASSWORD",
		"TIDEMARK_REPAIR":      "--repair has to be on the command line",
		"TIDEMARK_YES":         "--yes has to be on the command line",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "true")
			for _, args := range [][]string{{"version"}, {"snapshot", "list", "--snapshots", "file://" + t.TempDir()}, {"no-verb"}} {
				r := tidemark(t, "", args...)
				if strings.Count(r.errout, name+" is ignored") != 1 || !strings.Contains(r.errout, want) {
					t.Errorf("%v: %q, want %q", args, r.errout, want)
				}
			}
			t.Setenv("TIDEMARK_LOG_FORMAT", "json")
			r := tidemark(t, "", "gateway", "--presence-ttl", "5s", "--auth-keys", filepath.Join(t.TempDir(), "nowhere"))
			if line, _, _ := strings.Cut(r.errout, "\n"); !strings.HasPrefix(line, "{") || !strings.Contains(line, name+" is ignored") {
				t.Errorf("in a log of JSON lines: %q", r.errout)
			}
		})
	}
	for _, v := range []string{"TIDEMARK_SERVICE_HOST=10.0.0.1", "TIDEMARK_SERVICE_PORT_HTTP=8080", "TIDEMARK_PORT=tcp://10.0.0.1:8080",
		"TIDEMARK_PORT_8080_TCP_ADDR=10.0.0.1", "TIDEMARK_GATEWAY_PORT_8081_TCP=tcp://10.0.0.1:8081", "TIDEMARK_BROKERS=a", "TIDEMARK_TOKEN=b"} {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	if r := tidemark(t, "", "version"); r.errout != "" {
		t.Errorf("of Kubernetes, and known ones: %q", r.errout)
	}
}

// No variable that names a victim or allows destruction is read.
func TestTheEnvironmentDestroysNothing(t *testing.T) {
	t.Setenv("TIDEMARK_USER", "ann")
	t.Setenv("TIDEMARK_YES", "true")
	if r := tidemark(t, "", "erase-user"); r.code != exitUsage || !strings.Contains(r.errout, "missing flags: --user=ID") {
		t.Errorf("%+v", r)
	}
	if r := tidemark(t, "", "erase-user", "--user", "ann"); r.code != exitUsage || !strings.Contains(r.errout, "it needs --yes") {
		t.Errorf("%+v", r)
	}
}

// A flag that is missing is said to be missing, whatever else a verb checks.
func TestMissingFlagsAreNamed(t *testing.T) {
	for name, node := range nodes(t) {
		for _, f := range node.Flags {
			if f.Required {
				if r := tidemark(t, "", strings.Fields(name)...); r.code != exitUsage || !strings.Contains(r.errout, "missing flags: ") || !strings.Contains(r.errout, "--"+f.Name+"=") {
					t.Errorf("%s: %+v, want it to name --%s", name, r, f.Name)
				}
			}
		}
	}
}

// Every variable that the code reads by name is known, so that nobody is told that it is ignored.
func TestSecretVariablesAreAllThatTheCodeReads(t *testing.T) {
	reads := regexp.MustCompile(`(?:Getenv|LookupEnv)\("(TIDEMARK_[A-Z_]+)"\)`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "internal/test/testkit") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, m := range reads.FindAllSubmatch(code, -1) {
			if !slices.Contains(secretVariables, string(m[1])) {
				t.Errorf("%s reads %s, which is not among secretVariables", path, m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
