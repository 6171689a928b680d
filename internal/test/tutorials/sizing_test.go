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
	constants := map[string]float64{}
	for _, m := range formula.FindAllStringSubmatch(page, -1) {
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		constants[m[1]] = n * map[string]float64{"B": 1, "KiB": 1024, "us": 1e-6}[m[3]]
	}
	performance := read(t, "docs/performance.md")
	for _, figure := range []string{
		"175 bytes of memory and 8.6 bytes of disk a pair, 14.3 KiB for a connection", "570 to 960 bytes a pair", "240 to 460 with", "and 50 to 100 with",
		"| Tidemark, fan-out off | 2.8 |", "| Tidemark, fan-out 50 | 6.0 |", "| Tidemark, fan-out 50, with Redis, `json` | 28 to 34 |", "gateways of 20,000 connections",
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
		pairs, connections, events := number("users")*number("channels of each"), number("devices online at once"), number("events a second")
		owners := pairs * constants["memory of all owners"]
		for name, want := range map[string]string{
			"pairs":                                 thousands(pairs),
			"memory of all owners":                  bytes(owners),
			"with one standby":                      bytes(2 * owners),
			"disk for pairs":                        bytes(pairs * constants["disk for pairs"]),
			"memory of gateways":                    bytes(connections * constants["memory of gateways"]),
			"gateways":                              fmt.Sprint(math.Ceil(connections / 20_000)),
			"Redis, packed":                         bytes(pairs * constants["Redis, `--redis-values packed`"]),
			"cores to fold and publish, fan-out 50": fmt.Sprintf("%.3f", events*constants["cores to fold and publish, fan-out 50"]),
		} {
			if got := table[name][i]; got != want {
				t.Errorf("%s of example %d: %s, want %s", name, i+1, got, want)
			}
		}
	}
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
