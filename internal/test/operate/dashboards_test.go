package operate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// dashboard has the part of Grafana's format that the tests read.
type dashboard struct {
	UID, Title string
	Panels     []struct {
		ID      int
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(root + "/deploy/grafana/*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d dashboards, want 3 (%v)", len(files), err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = d
	}
	return all
}

func TestDashboardsNameMetrics(t *testing.T) {
	exported := export(t)
	uids := map[string]bool{}
	for file, d := range dashboards(t) {
		if d.UID == "" || uids[d.UID] || d.Title == "" {
			t.Errorf("%s has the uid %q and the title %q", file, d.UID, d.Title)
		}
		uids[d.UID] = true
		taken, ids := map[[2]int]string{}, map[int]bool{}
		for _, p := range d.Panels {
			if ids[p.ID] {
				t.Errorf("%s: two panels have the id %d", file, p.ID)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other, ok := taken[[2]int{x, y}]; ok || x >= 24 {
						t.Fatalf("%s: %s lies over %q or beyond the edge", file, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			if len(p.Targets) == 0 {
				t.Errorf("%s: %s shows nothing", file, p.Title)
			}
			for _, target := range p.Targets {
				if len(named(target.Expr)) == 0 {
					t.Errorf("%s: %s names no metric: %s", file, p.Title, target.Expr)
				}
				if names := missing(target.Expr, exported); len(names) > 0 {
					t.Errorf("%s: %s names %v, which no process exports", file, p.Title, names)
				}
			}
		}
		if len(d.Panels) < 10 {
			t.Errorf("%s has %d panels", file, len(d.Panels))
		}
	}
}

// The queries of the dashboards are PromQL: promtool accepts all of them as rules.
func TestPromtoolAcceptsWhatDashboardsAsk(t *testing.T) {
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []rule
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				expr := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(target.Expr)
				rules = append(rules, rule{"asked", expr})
			}
		}
	}
	b, err := yaml.Marshal(map[string]any{"groups": []map[string]any{{"name": "dashboards", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "asked.yml")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.Program(t, "promtool")
	promtool(t, filepath.Dir(file), "check", "rules", "--lint=none", file)
}
