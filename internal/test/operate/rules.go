package operate

import (
	"os"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Rule is an alert of deploy/prometheus/tidemark.yml.
type Rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

// Rules reads the alerts of a file of rules.
func Rules(path string) (all []Rule, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Groups []struct{ Rules []Rule }
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		return nil, err
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all, nil
}

var (
	metricName = regexp.MustCompile(`\btidemark_[a-z0-9_]+`)
	partOfOne  = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// named returns the metrics that an expression names.
func named(expr string) []string {
	names := metricName.FindAllString(expr, -1)
	slices.Sort(names)
	return slices.Compact(names)
}
