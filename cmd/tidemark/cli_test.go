package main

import (
	"encoding/json"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// TestBenchesThatNeedBrokers: without --brokers, bench names the benches that need none.
func TestBenchesThatNeedBrokers(t *testing.T) {
	t.Setenv("TIDEMARK_TEST_BROKERS", "") // is restored at the end
	if err := os.Unsetenv("TIDEMARK_TEST_BROKERS"); err != nil {
		t.Fatal(err)
	}
	r := tidemark(t, "", "bench", "fold", "live")
	if want := `the bench "live" needs --brokers; these need none: fold, scale`; r.code != exitUsage || !strings.Contains(r.errout, want) {
		t.Errorf("exit %d, want %d and %q: %s%s", r.code, exitUsage, want, r.out, r.errout)
	}
}

func TestExitCodesAndErrors(t *testing.T) {
	nobody := closedPort(t)
	for _, c := range []struct {
		args string
		code int
		want []string // in what is printed to stderr
	}{
		{"", exitUsage, []string{"Usage: tidemark <command>", "query watch"}},
		{"frobnicate", exitUsage, []string{"frobnicate", "tidemark --help"}},
		{"query unread ann", exitUsage, []string{"<channel>", "tidemark query unread --help"}},
		{"query unread ann general --adr x", exitUsage, []string{"--adr"}},
		{"query unread ann general --addr 127.0.0.1:8080", exitUsage, []string{"--addr", "http://127.0.0.1:8080"}},
		{"query unread ann general --addr http://" + nobody, exitFailed, []string{"no node answers at http://" + nobody, "tidemark dev", "--addr"}},
		{"query watch ann --addr http://" + nobody, exitFailed, []string{"no node answers at http://" + nobody}},
		{"topics check --brokers " + nobody, exitFailed, []string{"no Kafka broker answers at " + nobody, "--brokers"}},
		{"topics create --partitions 0", exitUsage, []string{"--partitions"}},
		{"emit --brokers " + nobody, exitFailed, []string{nobody}},
		{"emit --topic tidemark.unread", exitUsage, []string{"--topic tidemark.unread", "chat.reads"}},
		{"inspect topic chat.reads --brokers " + nobody, exitFailed, []string{nobody}},
		{"inspect topic chat.reads --records=-1", exitUsage, []string{"--records"}},
		{"deadletters list --since yesterday", exitUsage, []string{"--since"}},
		{"run --roles processor,gatekeeper", exitUsage, []string{"--roles", `"gatekeeper"`, "cache"}},
		{"run --listen 0.0.0.0:8080", exitUsage, []string{"0.0.0.0:8080", "--insecure"}},
		{"run --advertise 10.0.0.5:8080", exitUsage, []string{"--advertise", "http://10.0.0.5:8080"}},
		{"run --memory lots", exitUsage, []string{"--memory", "lots", "512MiB"}},
		{"run --log-level loud", exitUsage, []string{"--log-level", "debug"}},
		{"run --redis redis://bob:hunter2@127.0.0.1:1", exitUsage, []string{"TIDEMARK_REDIS", "--redis-password-file"}},
		{"run --listen 127.0.0.1:0 --memory 1GiB --brokers " + nobody, exitFailed, []string{"no Kafka broker answers at " + nobody}},
		{"dev --partitions 0", exitUsage, []string{"--partitions"}},
		{"dev --kafka-listen 0.0.0.0:9092", exitUsage, []string{"--kafka-listen", "--insecure"}},
		{"bench nothing", exitUsage, []string{`"nothing"`, "fold, scale"}},
		{"version extra", exitUsage, []string{"extra"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			r := tidemark(t, "", strings.Fields(c.args)...)
			if r.code != c.code || r.out != "" {
				t.Errorf("exit %d, want %d; stdout %q, stderr %q", r.code, c.code, r.out, r.errout)
			}
			for _, w := range c.want {
				if !strings.Contains(r.errout, w) {
					t.Errorf("%q is not in %q", w, r.errout)
				}
			}
			if c.args != "" && strings.Count(r.errout, "\n") != 1 {
				t.Errorf("more than one sentence: %q", r.errout)
			}
			if strings.Contains(r.errout, "hunter2") {
				t.Errorf("a password is shown: %q", r.errout)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	if out := ok(t, "", "version"); !strings.HasPrefix(out, "tidemark ") || strings.Count(out, "\n") != 1 {
		t.Errorf("%q", out)
	}
	var b struct{ Version, Go, Platform string }
	if err := json.Unmarshal([]byte(ok(t, "", "version", "--json")), &b); err != nil || b.Version == "" || b.Go == "" || b.Platform == "" {
		t.Errorf("%+v, %v", b, err)
	}
}

// The bill of materials has every module that the binary was linked with, with its checksum.
func TestVersionSBOM(t *testing.T) {
	var bill struct {
		BOMFormat  string `json:"bomFormat"`
		Components []struct {
			Name, Version string
			Properties    []struct{ Name, Value string }
		}
	}
	if err := json.Unmarshal([]byte(ok(t, "", "version", "--sbom")), &bill); err != nil || bill.BOMFormat != "CycloneDX" {
		t.Fatalf("%+v, %v", bill, err)
	}
	info, known := debug.ReadBuildInfo()
	if !known {
		t.Fatal("no build info")
	}
	if len(bill.Components) != len(info.Deps)+1 {
		t.Errorf("%d components, want %d modules and the standard library", len(bill.Components), len(info.Deps))
	}
	for _, c := range bill.Components {
		if c.Version == "" || c.Name != "stdlib" && (len(c.Properties) != 1 || !strings.HasPrefix(c.Properties[0].Value, "h1:")) {
			t.Errorf("%+v", c)
		}
	}
}

// A flag on the command line wins over its variable, and lists are separated by commas in both.
func TestFlagsFromTheEnvironment(t *testing.T) {
	nobody, other := closedPort(t), closedPort(t)
	t.Setenv("TIDEMARK_BROKERS", nobody+","+other)
	if r := tidemark(t, "", "topics", "check"); !strings.Contains(r.errout, nobody+","+other) {
		t.Errorf("from the environment: %q", r.errout)
	}
	if r := tidemark(t, "", "topics", "check", "--brokers", other); strings.Contains(r.errout, nobody) || !strings.Contains(r.errout, other) {
		t.Errorf("from the command line: %q", r.errout)
	}
	// A password is welcome where only this process can read it.
	t.Setenv("TIDEMARK_REDIS", "redis://:hunter2@"+nobody)
	if r := tidemark(t, "", "run", "--listen", "127.0.0.1:0"); r.code != exitFailed || !strings.Contains(r.errout, "no Kafka broker") {
		t.Errorf("with a password in the environment: %d %q", r.code, r.errout)
	}
}
