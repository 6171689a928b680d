// Package deploy_test checks the files with which Tidemark is deployed. No container engine runs
// here: the files are parsed, and what they name is compared with what there is.
package deploy_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// compose is as much of the Compose file format as kafka-compose.yml uses.
type compose struct {
	Services map[string]service
	Volumes  map[string]any
}

type service struct {
	Image string
	Build struct {
		Context, Dockerfile string
		Args                map[string]string
	}
	Command     []string
	Ports       []string
	Environment map[string]string
	Volumes     []string
	ReadOnly    bool                                  `yaml:"read_only"`
	CapDrop     []string                              `yaml:"cap_drop"`
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck struct{ Test []string }
	StopGrace   time.Duration `yaml:"stop_grace_period"`
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readCompose(t *testing.T) compose {
	t.Helper()
	var c compose
	if err := yaml.Unmarshal([]byte(readFile(t, "kafka-compose.yml")), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestComposeHasTheWholePath(t *testing.T) {
	c := readCompose(t)
	if got, want := slices.Sorted(maps.Keys(c.Services)), []string{"kafka", "redis", "tidemark", "topics"}; !slices.Equal(got, want) {
		t.Fatalf("services %v, want %v", got, want)
	}
	if got, want := c.Services["kafka"].Image, "apache/kafka:"+servers.KafkaVersion; got != want {
		t.Errorf("image of kafka is %s; the tests run against %s", got, want)
	}
	for name, s := range c.Services {
		if tag := s.Image[strings.LastIndexByte(s.Image, ':')+1:]; tag == s.Image || tag == "latest" {
			t.Errorf("%s: image %q is not pinned", name, s.Image)
		}
		for _, v := range s.Volumes {
			if volume, _, _ := strings.Cut(v, ":"); !hasKey(c.Volumes, volume) {
				t.Errorf("%s: volume %q is not declared", name, volume)
			}
		}
	}
}

func hasKey[V any](m map[string]V, key string) bool { _, ok := m[key]; return ok }

// The host reaches each server where the command's flags look for it by default, and nobody else
// does.
func TestComposePublishesToLoopbackOnly(t *testing.T) {
	c := readCompose(t)
	for name, want := range map[string][]string{
		"kafka": {"127.0.0.1:9092:9092"}, "redis": {"127.0.0.1:6379:6379"}, "tidemark": {"127.0.0.1:8080:8080"}, "topics": nil,
	} {
		if got := c.Services[name].Ports; !slices.Equal(got, want) {
			t.Errorf("%s publishes %v, want %v", name, got, want)
		}
	}
}

// Each service starts when what it needs answers, and what others wait for has a health check.
func TestComposeStartsInOrder(t *testing.T) {
	c := readCompose(t)
	want := map[string]map[string]string{
		"kafka":    {},
		"redis":    {},
		"topics":   {"kafka": "service_healthy"},
		"tidemark": {"topics": "service_completed_successfully", "redis": "service_healthy"},
	}
	for name, s := range c.Services {
		got := map[string]string{}
		for on, d := range s.DependsOn {
			got[on] = d.Condition
			if d.Condition == "service_healthy" && len(c.Services[on].Healthcheck.Test) == 0 {
				t.Errorf("%s waits for the health of %s, which has no check", name, on)
			}
		}
		if !maps.Equal(got, want[name]) {
			t.Errorf("%s depends on %v, want %v", name, got, want[name])
		}
	}
	if test := strings.Join(c.Services["tidemark"].Healthcheck.Test, " "); !strings.Contains(test, "/readyz") {
		t.Errorf("health of tidemark is %q, which does not ask /readyz", test)
	}
}

// kafkaSettings are the broker's properties, by the rule with which the image reads its
// environment.
func kafkaSettings(c compose) map[string]string {
	settings := map[string]string{}
	for name, value := range c.Services["kafka"].Environment {
		if key, ok := strings.CutPrefix(name, "KAFKA_"); ok {
			settings[strings.ReplaceAll(strings.ToLower(key), "_", ".")] = value
		}
	}
	return settings
}

// Listeners are the part of a broker's configuration that is most easily wrong: a client gets in,
// and is sent on to an address that it cannot reach.
func TestComposeListenersFitTogether(t *testing.T) {
	c := readCompose(t)
	settings := kafkaSettings(c)
	split := func(key string) map[string]string {
		all := map[string]string{}
		for _, l := range strings.Split(settings[key], ",") {
			name, addr, _ := strings.Cut(l, ":")
			all[name] = strings.TrimPrefix(addr, "//")
		}
		return all
	}
	listeners, advertised, protocols := split("listeners"), split("advertised.listeners"), split("listener.security.protocol.map")
	if !maps.EqualFunc(listeners, protocols, func(string, string) bool { return true }) {
		t.Errorf("listeners %v have protocols %v", listeners, protocols)
	}
	port := func(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }
	for name, addr := range advertised {
		if port(addr) != port(listeners[name]) {
			t.Errorf("listener %s is at %s and advertised at %s", name, listeners[name], addr)
		}
	}
	controller := settings["controller.listener.names"]
	if want := "1@kafka:" + port(listeners[controller]); settings["controller.quorum.voters"] != want || hasKey(advertised, controller) {
		t.Errorf("controller at %s, voters %s; want %s", listeners[controller], settings["controller.quorum.voters"], want)
	}
	if !hasKey(advertised, settings["inter.broker.listener.name"]) {
		t.Errorf("inter.broker.listener.name is %s, advertised are %v", settings["inter.broker.listener.name"], advertised)
	}
	for _, service := range []string{"topics", "tidemark"} {
		brokers := c.Services[service].Environment["TIDEMARK_BROKERS"]
		if !slices.Contains(slices.Collect(maps.Values(advertised)), brokers) || !strings.HasPrefix(brokers, "kafka:") {
			t.Errorf("%s uses Kafka at %s; it is advertised at %v", service, brokers, advertised)
		}
	}
}

// Every variable is that of a flag of the verb that the service runs, as the command's own help
// lists it.
func TestComposeVariablesAreFlagsOfTheCommand(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "tidemark")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/tidemark").CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	c := readCompose(t)
	for _, name := range []string{"topics", "tidemark"} {
		s := c.Services[name]
		help, err := exec.Command(binary, append(slices.Clone(s.Command), "--help")...).CombinedOutput()
		if err != nil {
			t.Fatalf("tidemark %v --help: %v\n%s", s.Command, err, help)
		}
		for variable := range s.Environment {
			flag := "--" + strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, "TIDEMARK_")), "_", "-")
			if !regexp.MustCompile(regexp.QuoteMeta(flag) + `\b`).Match(help) {
				t.Errorf("%s sets %s; `tidemark %s` has no flag %s", name, variable, strings.Join(s.Command, " "), flag)
			}
		}
	}
}

func TestContainersOfTidemarkAreConfined(t *testing.T) {
	c := readCompose(t)
	for _, name := range []string{"topics", "tidemark"} {
		s := c.Services[name]
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) {
			t.Errorf("%s: read_only %v, cap_drop %v", name, s.ReadOnly, s.CapDrop)
		}
		if s.Build.Context != "." || s.Build.Dockerfile != "deploy/Dockerfile" {
			t.Errorf("%s is built from %+v", name, s.Build)
		}
		for arg := range s.Build.Args {
			if !strings.Contains(readFile(t, "deploy/Dockerfile"), "ARG "+arg) {
				t.Errorf("%s is built with %s, which the image does not take", name, arg)
			}
		}
		if s.Build.Args["VERSION"] == "" {
			t.Errorf("%s does not say which version it is", name)
		}
	}
	data := c.Services["tidemark"].Environment["TIDEMARK_DATA_DIR"]
	if !slices.ContainsFunc(c.Services["tidemark"].Volumes, func(v string) bool { return strings.HasSuffix(v, ":"+data) }) {
		t.Errorf("the data directory %s is on no volume: %v", data, c.Services["tidemark"].Volumes)
	}
}

// A node that is killed while it stops leaves work to the next start.
func TestComposeLetsANodeStop(t *testing.T) {
	if grace := readCompose(t).Services["tidemark"].StopGrace; grace < time.Minute {
		t.Errorf("tidemark is killed %s after it was asked to stop", grace)
	}
}

// A browser that opens the published port sees the page, and its people have sockets.
func TestComposeShowsThePage(t *testing.T) {
	if ui := readCompose(t).Services["tidemark"].Environment["TIDEMARK_UI"]; ui != "true" {
		t.Errorf("TIDEMARK_UI is %q", ui)
	}
}

func TestImageIsPinnedAndRunsAsNobody(t *testing.T) {
	file := readFile(t, "deploy/Dockerfile")
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(readFile(t, "go.mod"))
	if version == nil || !strings.Contains(file, "ARG GO_VERSION="+version[1]+"\n") {
		t.Errorf("the image is not built with the Go of go.mod, %v", version)
	}
	froms := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(file, -1)
	if len(froms) != 2 {
		t.Errorf("%d stages, want a build and what runs", len(froms))
	}
	for _, from := range froms {
		if !regexp.MustCompile(`:(\$\{GO_VERSION\}|\d+\.\d+)`).MatchString(from[1]) {
			t.Errorf("%s is not pinned", from[1])
		}
	}
	last := file[strings.LastIndex(file, "\nFROM "):]
	user := regexp.MustCompile(`(?m)^USER (\d+):(\d+)$`).FindStringSubmatch(last)
	if user == nil || user[1] == "0" {
		t.Errorf("user of the image: %v; want a number that is not 0", user)
	}
	for _, path := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(file, -1) {
		for _, from := range strings.Fields(path[1]) {
			if _, err := os.Stat(filepath.Join("..", from)); err != nil {
				t.Errorf("the image copies %s: %v", from, err)
			}
		}
	}
}

// What the image needs to build must not be kept from it.
func TestNothingNeededIsIgnored(t *testing.T) {
	ignored := readFile(t, "deploy/Dockerfile.dockerignore")
	if strings.Contains(ignored, "\ndocs\n") && !strings.Contains(ignored, "\n!docs/docs.go\n!docs/runbook.md\n") {
		t.Error("the command contains docs/runbook.md, which is ignored")
	}
	for line := range bytes.Lines([]byte(ignored)) {
		switch pattern := strings.TrimSpace(string(line)); pattern {
		case "go.mod", "go.sum", "app", "cache", "cmd", "events", "gateway", "importer", "internal", "processor", "projections", "query", "snapshot", "sqlsink", "*", "**":
			t.Errorf("%s is ignored", pattern)
		}
	}
}
