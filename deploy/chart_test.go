package deploy_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write deploy/kubernetes and the files of the chart instead of comparing with them")

const chart = "helm/tidemark"

// builtTool builds tools/chart once; it is Helm, so the short tests leave it out.
var builtTool = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "chart")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "chart"), ".")
	build.Dir = "../tools/chart"
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return filepath.Join(dir, "chart"), nil
})

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if !testing.Short() {
		if tool, err := builtTool(); err == nil {
			os.RemoveAll(filepath.Dir(tool))
		}
	}
	os.Exit(code)
}

// rendered returns the objects that the chart makes of files with values, or the refusal. It lints
// the chart with them and decodes the objects strictly.
func rendered(t *testing.T, values ...string) (objects, refusal string) {
	t.Helper()
	if testing.Short() {
		t.Skip("Helm takes minutes to build")
	}
	tool, err := builtTool()
	if err != nil {
		t.Fatalf("build tools/chart: %v", err)
	}
	cmd := exec.Command(tool, append([]string{chart}, values...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", stderr.String()
	}
	return stdout.String(), ""
}

// The chart carries the rules and dashboards: Helm packs no file from outside of its folder, and
// links are lost on some file systems.
func TestTheChartHasTheRulesAndDashboards(t *testing.T) {
	sources, err := filepath.Glob("grafana/*.json")
	if err != nil || len(sources) < 3 {
		t.Fatalf("%v, %v", sources, err)
	}
	copies := map[string]string{"prometheus/tidemark.yml": chart + "/files/rules.yml"}
	for _, source := range sources {
		copies[source] = chart + "/files/dashboards/" + filepath.Base(source)
	}
	for source, file := range copies {
		want, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not %s (%v): go test ./deploy -update", file, source, err)
		}
	}
	carried, err := filepath.Glob(chart + "/files/dashboards/*")
	if err != nil || len(carried) != len(sources) {
		t.Errorf("the chart carries the dashboards %v, and grafana has %v (%v)", carried, sources, err)
	}
}

// The plain manifests are what the chart makes of the values of the same name.
func TestManifestsAreRenderedFromTheChart(t *testing.T) {
	files, err := filepath.Glob(chart + "/ci/*-values.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, values := range files {
		objects, refusal := rendered(t, values)
		if refusal != "" {
			t.Errorf("%s: %s", values, refusal)
			continue
		}
		name := strings.TrimSuffix(filepath.Base(values), "-values.yaml")
		if name == "dashboards" {
			continue // they would stand here twice
		}
		objects = "# Made by `go test ./deploy -run Manifests -update` of deploy/" + values + ": edit that, or the chart.\n" + objects
		file := "kubernetes/" + name + ".yaml"
		if *update {
			if err := os.WriteFile(file, []byte(objects), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != objects {
			t.Errorf("%s is not what the chart makes now (%v): go test ./deploy -run Manifests -update", file, err)
		}
	}
}

// What would only fail in the pod, or be open to everybody, is refused when it is rendered.
func TestChartRefusesWhatWouldNotRun(t *testing.T) {
	for _, c := range []struct{ name, values, want string }{
		{"nothing is set", ``, "kafka.brokers is empty"},
		{"nobody said who may ask", `kafka: {brokers: ["k:1"]}`, "auth.insecure"},
		{"keys and none", `{kafka: {brokers: ["k:1"]}, auth: {keys: "https://x/jwks", issuer: x, insecure: true}}`, "auth.insecure is for pods without keys"},
		{"two places for keys", `{kafka: {brokers: ["k:1"]}, auth: {keys: "https://x/jwks", keysSecret: {name: k}, issuer: x}}`, "two places"},
		{"no issuer", `{kafka: {brokers: ["k:1"]}, auth: {keys: "https://x/jwks"}}`, "auth.issuer is empty"},
		{"gateways prove nothing", `{kafka: {brokers: ["k:1"]}, auth: {keys: "https://x/jwks", issuer: x}}`, "auth.peerSecret"},
		{"a login without a password", `{kafka: {brokers: ["k:1"], sasl: plain}, auth: {insecure: true}}`, "kafka.passwordSecret"},
		{"a misspelt value", `{kafka: {broker: ["k:1"]}}`, "broker"},
		{"a broker without a port", `{kafka: {brokers: [kafka]}, auth: {insecure: true}}`, "brokers"},
		{"keys over http", `{kafka: {brokers: ["k:1"]}, auth: {keys: "http://x/jwks", issuer: x}}`, "keys"},
		{"a password in the pod's arguments", `{kafka: {brokers: ["k:1"]}, auth: {insecure: true}, redis: {url: "redis://:secret@r:6379"}}`, "url"},
		{"a flag by its variable", `{kafka: {brokers: ["k:1"]}, auth: {insecure: true}, nodes: {flags: {FANOUT_LIMIT: 5}}}`, "FANOUT_LIMIT"},
		{"no limit of memory", `{kafka: {brokers: ["k:1"]}, auth: {insecure: true}, nodes: {resources: {limits: null}}}`, "limits"},
		{"more checks than a node makes", `{kafka: {brokers: ["k:1"]}, auth: {insecure: true}, nodes: {checkChannels: 601}}`, "checkChannels"},
		{"no nodes", `{kafka: {brokers: ["k:1"]}, auth: {insecure: true}, nodes: {replicas: 0}}`, "replicas"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(file, []byte(c.values), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, refusal := rendered(t, file); !strings.Contains(refusal, c.want) {
				t.Errorf("refused with %q, want %q", refusal, c.want)
			}
		})
	}
}

// The linter and the strict decoding find what they are there for.
func TestABrokenChartIsFound(t *testing.T) {
	rendered(t, chart+"/ci/minimal-values.yaml") // builds the tool
	tool, err := builtTool()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, file, from, to, want string }{
		{"an unknown field", "templates/nodes.yaml", "podManagementPolicy:", "podManagement:", `unknown field "spec.podManagement"`},
		{"a field twice", "templates/nodes.yaml", "  podManagementPolicy: Parallel\n", "  podManagementPolicy: Parallel\n  replicas: 1\n", "replicas"},
		{"a wrong type", "templates/gateway.yaml", "maxSurge: 1", "maxSurge: [1]", "maxSurge"},
		{"no version", "Chart.yaml", "\nversion: 0.1.0", "\nversion: one", "version"},
		{"no namespace", "templates/serviceaccount.yaml", "  namespace: {{ .Release.Namespace }}\n", "", "namespace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tidemark")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("cp", "-RL", chart+"/.", dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			b, err := os.ReadFile(filepath.Join(dir, c.file))
			if err != nil || strings.Count(string(b), c.from) != 1 {
				t.Fatalf("%s has %q %d times (%v)", c.file, c.from, strings.Count(string(b), c.from), err)
			}
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(strings.Replace(string(b), c.from, c.to, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(tool, dir, chart+"/ci/minimal-values.yaml").CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, %s; want %q", err, out[:min(len(out), 2000)], c.want)
			}
		})
	}
}

// object is as much of an object of Kubernetes as the tests look at.
type object struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Spec struct {
		ServiceName              string    `yaml:"serviceName"`
		ClusterIP                string    `yaml:"clusterIP"`
		PublishNotReadyAddresses bool      `yaml:"publishNotReadyAddresses"`
		Selector                 yaml.Node // a map in a Service, with matchLabels elsewhere
		PodSelector              selector  `yaml:"podSelector"`
		Ports                    []struct {
			Name       string
			TargetPort string `yaml:"targetPort"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
	}
}

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type pod struct {
	TerminationGracePeriodSeconds int  `yaml:"terminationGracePeriodSeconds"`
	AutomountServiceAccountToken  bool `yaml:"automountServiceAccountToken"`
	SecurityContext               struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
		RunAsUser    int  `yaml:"runAsUser"`
	} `yaml:"securityContext"`
	Containers []struct {
		Args            []string
		Env             []struct{ Name string }
		Ports           []struct{ Name string }
		SecurityContext struct {
			AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
			Capabilities             struct{ Drop []string }
		} `yaml:"securityContext"`
		Resources      struct{ Limits map[string]string }
		ReadinessProbe struct {
			HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
		} `yaml:"readinessProbe"`
		LivenessProbe struct {
			HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
		} `yaml:"livenessProbe"`
		VolumeMounts []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
	Volumes []struct{ Name string }
}

func manifests(t *testing.T) map[string][]object {
	t.Helper()
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	all := map[string][]object{}
	for _, file := range files {
		d := yaml.NewDecoder(strings.NewReader(readFile(t, "deploy/"+file)))
		for {
			var o object
			err := d.Decode(&o)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all[file] = append(all[file], o)
		}
	}
	return all
}

// selected are the labels that an object of a kind with pods, or for pods, asks for.
func (o object) selected(t *testing.T) map[string]string {
	t.Helper()
	var s selector
	switch o.Kind {
	case "Service":
		if err := o.Spec.Selector.Decode(&s.MatchLabels); err != nil {
			t.Fatal(err)
		}
	case "NetworkPolicy":
		return o.Spec.PodSelector.MatchLabels
	default:
		if err := o.Spec.Selector.Decode(&s); err != nil {
			t.Fatal(err)
		}
	}
	return s.MatchLabels
}

func within(labels, of map[string]string) bool {
	for k, v := range labels {
		if of[k] != v {
			return false
		}
	}
	return len(labels) > 0
}

// Each Service, budget and policy finds the pods of one role, and each role has one of each.
func TestManifestsFitTogether(t *testing.T) {
	for file, objects := range manifests(t) {
		of := map[string]map[string]int{} // by the pods' owner, how many of each kind choose them
		for _, o := range objects {
			if o.Kind != "StatefulSet" && o.Kind != "Deployment" {
				continue
			}
			name := o.Kind + " " + o.Metadata.Name
			of[name] = map[string]int{}
			labels := o.Spec.Template.Metadata.Labels
			if !within(o.selected(t), labels) {
				t.Errorf("%s: %s does not choose its own pods", file, name)
			}
			for _, p := range objects {
				switch p.Kind {
				case "Service", "PodDisruptionBudget", "NetworkPolicy":
					if within(p.selected(t), labels) {
						of[name][p.Kind]++
					}
				}
			}
		}
		for name, n := range of {
			if n["Service"] < 2 || n["PodDisruptionBudget"] != 1 || n["NetworkPolicy"] != 1 {
				t.Errorf("%s: %s has %v", file, name, n)
			}
		}
		if len(of) != 2 {
			t.Errorf("%s has %v", file, slices.Sorted(maps.Keys(of)))
		}
	}
}

// A pod's own name leads to it also while it is not ready: its other partitions are live.
func TestNodesHaveNamesWhileTheyAreNotReady(t *testing.T) {
	for file, objects := range manifests(t) {
		for _, o := range objects {
			if o.Kind != "StatefulSet" {
				continue
			}
			i := slices.IndexFunc(objects, func(s object) bool { return s.Kind == "Service" && s.Metadata.Name == o.Spec.ServiceName })
			if i < 0 || objects[i].Spec.ClusterIP != "None" || !objects[i].Spec.PublishNotReadyAddresses {
				t.Errorf("%s: the Service %q of %s is not headless, or leaves out pods that are not ready", file, o.Spec.ServiceName, o.Metadata.Name)
			}
			args := strings.Join(o.Spec.Template.Spec.Containers[0].Args, " ")
			for _, want := range []string{"--instance-id=$(POD_NAME)", "://$(POD_NAME)." + o.Spec.ServiceName + ".$(POD_NAMESPACE).svc:8080"} {
				if !strings.Contains(args, want) {
					t.Errorf("%s: %s is not started with %s", file, o.Metadata.Name, want)
				}
			}
			if strings.Contains(args, "--memory") {
				t.Errorf("%s: %s has a memory beside its limit", file, o.Metadata.Name)
			}
		}
	}
}

func TestPodsAreConfinedAndCanStop(t *testing.T) {
	for file, objects := range manifests(t) {
		for _, o := range objects {
			if o.Kind != "StatefulSet" && o.Kind != "Deployment" {
				continue
			}
			p, name := o.Spec.Template.Spec, file+": "+o.Metadata.Name
			if p.TerminationGracePeriodSeconds != 60 {
				t.Errorf("%s is killed after %d s", name, p.TerminationGracePeriodSeconds)
			}
			if !p.SecurityContext.RunAsNonRoot || p.SecurityContext.RunAsUser == 0 || p.AutomountServiceAccountToken {
				t.Errorf("%s runs as %+v", name, p.SecurityContext)
			}
			if len(p.Containers) != 1 {
				t.Fatalf("%s has %d containers", name, len(p.Containers))
			}
			c := p.Containers[0]
			s := c.SecurityContext
			if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
				t.Errorf("%s is confined by %+v", name, s)
			}
			if c.Resources.Limits["memory"] == "" {
				t.Errorf("%s has no limit, of which the memory is taken", name)
			}
			if c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" {
				t.Errorf("%s is ready by %v and lives by %v", name, c.ReadinessProbe, c.LivenessProbe)
			}
			for _, port := range []string{c.ReadinessProbe.HTTPGet.Port, c.LivenessProbe.HTTPGet.Port, "admin"} {
				if !slices.ContainsFunc(c.Ports, func(p struct{ Name string }) bool { return p.Name == port }) {
					t.Errorf("%s has no port %s", name, port)
				}
			}
			checkFiles(t, name, o)
		}
	}
}

// checkFiles checks that every file of an argument lies in a volume, and every mounted volume is
// there.
func checkFiles(t *testing.T, name string, o object) {
	t.Helper()
	p := o.Spec.Template.Spec
	volumes := map[string]bool{}
	for _, v := range p.Volumes {
		volumes[v.Name] = true
	}
	for _, v := range o.Spec.VolumeClaimTemplates {
		volumes[v.Metadata.Name] = true
	}
	mounts := p.Containers[0].VolumeMounts
	for _, m := range mounts {
		if !volumes[m.Name] {
			t.Errorf("%s mounts %s, which is no volume", name, m.Name)
		}
	}
	for _, arg := range p.Containers[0].Args {
		_, value, _ := strings.Cut(arg, "=")
		if !strings.HasPrefix(value, "/") {
			continue
		}
		mounted := false
		for _, m := range mounts {
			mounted = mounted || value == m.MountPath || strings.HasPrefix(value, m.MountPath+"/")
		}
		if !mounted {
			t.Errorf("%s: %s is on no volume", name, arg)
		}
	}
}
