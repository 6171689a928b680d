package verbs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/config"
)

type daemon struct {
	verbs.ConfigFlags
	verbs.BrokersFlags
	verbs.RedisFlags
	DataDir   string        `default:"data"`
	Every     time.Duration `default:"10m"`
	Memory    *config.Bytes
	Marks     bool   `default:"true"`
	LogFormat string `enum:"text,json" default:"text"`
	N         int    `name:"standbys"`
}

// parsed is a command with the flags of daemon after a file and a command line.
func parsed(t *testing.T, file string, args ...string) (daemon, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tidemark.yml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	var c struct {
		Run daemon `cmd:""`
	}
	k, err := kong.New(&c, kong.DefaultEnvars("TIDEMARK"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Parse(append([]string{"run", "--config", path}, args...))
	return c.Run, err
}

func TestConfigFileSetsFlags(t *testing.T) {
	d, err := parsed(t, `# of node 1
brokers: [kafka-1:9092, 'kafka-2:9092,odd']
data-dir: /var/lib/tidemark
every: 90s
memory: 4GiB
marks: false
log-format: json
standbys: 2
`)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Brokers, []string{"kafka-1:9092", "kafka-2:9092,odd"}) || d.DataDir != "/var/lib/tidemark" || d.Every != 90*time.Second ||
		d.Memory == nil || *d.Memory != 4<<30 || d.Marks || d.LogFormat != "json" || d.N != 2 || d.Redis != "redis://127.0.0.1:6379" {
		t.Errorf("%+v", d)
	}
	if d, err := parsed(t, "brokers: a:1,b:2\n"); err != nil || !slices.Equal(d.Brokers, []string{"a:1", "b:2"}) {
		t.Errorf("a list in one line: %v, %v", d.Brokers, err)
	}
	for _, empty := range []string{"", "# nothing\n", "---\n"} {
		if d, err := parsed(t, empty); empty != "---\n" && (err != nil || d.DataDir != "data") {
			t.Errorf("%q: %v, %v", empty, d.DataDir, err)
		}
	}
}

// A flag wins over its variable, and the variable over the file.
func TestConfigFileIsTheLastToAsk(t *testing.T) {
	t.Setenv("TIDEMARK_DATA_DIR", "of the variable")
	t.Setenv("TIDEMARK_STANDBYS", "3")
	d, err := parsed(t, "data-dir: of the file\nstandbys: 2\nevery: 1s\nbrokers: [a, b]\n", "--standbys", "4", "--brokers", "c")
	if err != nil || d.DataDir != "of the variable" || d.N != 4 || d.Every != time.Second || !slices.Equal(d.Brokers, []string{"c"}) {
		t.Errorf("%+v, %v", d, err)
	}
	t.Setenv("TIDEMARK_CONFIG", filepath.Join(t.TempDir(), "nowhere.yml"))
	var c struct {
		Run daemon `cmd:""`
	}
	k, err := kong.New(&c, kong.DefaultEnvars("TIDEMARK"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse([]string{"run"}); err == nil || !strings.Contains(err.Error(), "nowhere.yml") {
		t.Errorf("a file that the environment names: %v", err)
	}
}

func TestConfigFileIsRefused(t *testing.T) {
	for _, c := range []struct {
		file string
		want []string
	}{
		{"standbys: 1\ndata_dir: x\n", []string{"tidemark.yml:2", `"data_dir"`, "nearest", "data-dir"}},
		{"broker: x\n", []string{"tidemark.yml:1", "nearest is brokers"}},
		{"kafka-password: hunter2\n", []string{"kafka-password-file"}},
		{"redis: redis://:hunter2@redis:6379\n", []string{"redis has a password", "-file"}},
		{"config: other.yml\n", []string{`no setting "config"`}},
		{"standbys: 1\nstandbys: 2\n", []string{"tidemark.yml:2", "line 1"}},
		{"every: 10\n", []string{"tidemark.yml:1", "--every"}},
		{"memory: lots\n", []string{"--memory", "512MiB"}},
		{"log-format: xml\n", []string{"log-format", "text, json"}},
		{"marks: perhaps\n", []string{"--marks"}},
		{"data-dir: [a, b]\n", []string{"data-dir: want one value"}},
		{"data-dir:\n", []string{"data-dir has no value"}},
		{"brokers: {a: b}\n", []string{"brokers: want a value, or a list"}},
		{"- data-dir\n", []string{"NAME: VALUE"}},
		{"data-dir: x\n---\ndata-dir: y\n", []string{"several documents"}},
		{"data-dir: x\n  y: z\n", []string{"is not YAML", "line"}},
	} {
		_, err := parsed(t, c.file, "--every", "1s", "--memory", "1GiB", "--log-format", "text") // what the line overrides is checked, too
		if err == nil {
			t.Errorf("%q is taken", c.file)
			continue
		}
		for _, want := range append(c.want, "--config") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", c.file, err, want)
			}
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: a password is shown: %v", c.file, err)
		}
	}
}
