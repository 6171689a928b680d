package tutorials

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	formula = regexp.MustCompile(`(?m)^\| ([^|]+) \| (?:pairs|connections|events/s) × ([0-9.]+) (B|KiB|us) \|`)
	row     = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)
)

// TestSizing: the examples of the page have the results of its formulas, and their constants are
// those of docs/performance.md.
func TestSizing(t *testing.T) {
	page := read(t, "docs/sizing.md")
	constants := constantsOf(t, page)
	performance := read(t, "docs/performance.md")
	for _, figure := range []string{
		"155 bytes of memory and 8.6 bytes of disk a pair, 17.1 KiB for a connection", "570 to 960 bytes a pair", "240 to 460 with", "and 50 to 100 with",
		"| Tidemark, fan-out off | 3.7 |", "| Tidemark, fan-out 50 | 8.3 |", "| Tidemark, fan-out 50, with Redis, `json` | 30 |", "gateways of 20,000 connections",
	} {
		if !strings.Contains(performance, figure) {
			t.Errorf("docs/performance.md does not say %q any more: change docs/sizing.md with it", figure)
		}
	}
	table := map[string][]string{}
	_, examples, _ := strings.Cut(page, "## Examples")
	for _, m := range row.FindAllStringSubmatch(examples, -1) {
		table[m[1]] = m[2:]
	}
	for i := range 3 {
		number := func(name string) float64 {
			n, err := strconv.ParseFloat(strings.ReplaceAll(table[name][i], ",", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		s := size{number("users"), number("channels of each"), number("devices online at once"), number("events a second"), 1, 32, "packed"}
		results := s.results(constants)
		for _, name := range []string{
			"pairs", "memory of all owners", "with one standby", "disk for pairs", "memory of gateways", "gateways", "Redis, packed", "cores to fold and publish, fan-out 50",
		} {
			want := results[name]
			if got := table[name][i]; got != want {
				t.Errorf("%s of example %d: %s, want %s", name, i+1, got, want)
			}
		}
	}
}

// constantsOf returns the constants of the page's formulas in bytes and seconds, by the name of what
// they are for.
func constantsOf(t *testing.T, page string) map[string]float64 {
	t.Helper()
	constants := map[string]float64{}
	for _, m := range formula.FindAllStringSubmatch(page, -1) {
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		constants[m[1]] = n * map[string]float64{"B": 1, "KiB": 1024, "us": 1e-6}[m[3]]
	}
	return constants
}

// size is a size to compute, with the memory of a node in GB.
type size struct {
	users, channels, devices, events, standbys, node float64
	redis                                            string
}

// results returns what the formulas of the page give, by the name in its tables.
func (s size) results(constants map[string]float64) map[string]string {
	pairs := s.users * s.channels
	memory := pairs * constants["memory of all owners"] * (1 + s.standbys)
	nodes := math.Ceil(memory/(s.node*1e9*hotShare)) + 1
	cores := func(name string) string { return fmt.Sprintf("%.3f", s.events*constants[name]) }
	all := map[string]string{
		"pairs":                                 thousands(pairs),
		"memory of all owners":                  bytes(pairs * constants["memory of all owners"]),
		"nodes, with one to spare":              thousands(nodes),
		"partitions at least":                   thousands(max(math.Ceil(pairs/10e6), 2*nodes)),
		"disk for pairs":                        bytes(pairs * constants["disk for pairs"]),
		"memory of gateways":                    bytes(s.devices * constants["memory of gateways"]),
		"gateways":                              thousands(math.Ceil(s.devices / 20_000)),
		"cores to fold, fan-out off":            cores("cores to fold, fan-out off"),
		"cores to fold and publish, fan-out 50": cores("cores to fold and publish, fan-out 50"),
	}
	switch {
	case s.standbys == 1:
		all["with one standby"] = bytes(memory)
	case s.standbys > 1:
		all[fmt.Sprintf("with %g standbys", s.standbys)] = bytes(memory)
	}
	switch s.redis {
	case "json":
		all["Redis, JSON"] = bytes(pairs * constants["Redis, JSON"])
		all["cores with Redis filled, JSON"] = cores("cores with Redis filled, JSON")
	case "packed":
		all["Redis, packed"] = bytes(pairs * constants["Redis, `--redis-values packed`"])
	case "inbox":
		all["Redis, packed and --redis-keys inbox"] = bytes(pairs * constants["Redis, packed and `--redis-keys inbox`"])
	}
	return all
}

func bytes(n float64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", n/1e9)
	case n >= 1e7:
		return fmt.Sprintf("%.0f MB", n/1e6)
	}
	return fmt.Sprintf("%.1f MB", n/1e6)
}

func thousands(n float64) string {
	text := strconv.FormatFloat(n, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
