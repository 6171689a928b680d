package operate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A Prometheus with the configuration of docs/runbook.md scrapes a node. Once the node is stopped,
// what Prometheus knows of it makes the alert fire.
func TestANodeThatIsStoppedFiresItsAlert(t *testing.T) {
	program := testkit.Program(t, "prometheus")
	s := newSite(t, 1)
	node, stop := s.start("", nil, config.RoleProcessor, config.RoleQuery)
	s.ready(node)
	text, err := os.ReadFile(root + "/docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\nglobal:\n")
	example, _, found := strings.Cut("global:\n"+example, "```")
	if !found {
		t.Fatal("docs/runbook.md has no configuration of Prometheus")
	}
	const targets, interval = "[tidemark-0.example:8080, tidemark-1.example:8080]", "scrape_interval: 15s"
	if !strings.Contains(example, targets) || !strings.Contains(example, interval) {
		t.Fatalf("there is nothing to replace in\n%s", example)
	}
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tidemark.yml": string(rules),
		"example.yml":  example,
		"prometheus.yml": strings.NewReplacer(targets, "["+strings.TrimPrefix(node, "http://")+"]", interval, "scrape_interval: 200ms").
			Replace(example),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	promtool(t, dir, "check", "config", "example.yml")

	address := testkit.FreeAddress(t)
	var log strings.Builder
	server := exec.Command(program, "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address="+address)
	server.Dir, server.Stderr = dir, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	up := func(want float64) {
		s.until(func() error {
			got, err := ask("http://"+address, `up{job="tidemark"} and on (job, instance) last_over_time(tidemark_build_info[1d])`)
			if err == nil && (len(got) != 1 || got[0] != want) {
				err = fmt.Errorf("up is %v, want %g", got, want)
			}
			return err
		})
	}
	up(1)
	before := s.series(node)
	before["up{}"] = 1
	s.fires(before, before)
	stop()
	up(0)
	s.fires(before, map[string]float64{"up{}": 0}, "TidemarkNodeDown")
}

// ask returns the values of an instant query.
func ask(server, query string) (values []float64, err error) {
	res, err := http.Get(server + "/api/v1/query?query=" + url.QueryEscape(query)) //nolint:noctx // the test ends it
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var answer struct {
		Data struct {
			Result []struct{ Value [2]json.RawMessage }
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return nil, err
	}
	for _, r := range answer.Data.Result {
		var n float64
		if err := json.Unmarshal([]byte(strings.Trim(string(r.Value[1]), `"`)), &n); err != nil {
			return nil, err
		}
		values = append(values, n)
	}
	return values, nil
}
