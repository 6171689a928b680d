package tutorials

import (
	"regexp"
	"strings"
	"time"

	"github.com/tidemark/tidemark/internal/test/docs"
)

// masks match the parts of an output that differ from run to run.
var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?\b`), "TIME"},
	{regexp.MustCompile(`/tmp/tidemark-dev-\d+`), "DATA"},
	{regexp.MustCompile(`[ ,]"?chat\.deliveries/\d+/\d+"?`), ""}, // a device reports it before or after the output
	{regexp.MustCompile(`chat\.deliveries/\d+/\d+`), "DELIVERY"},
	{regexp.MustCompile(`\b([0-9a-f]{32}|[0-9a-f]{16})\b`), "DIGEST"},
	{regexp.MustCompile(`\b[0-9.]+(B|KiB|MiB)\b`), "SIZE"},
	{regexp.MustCompile(`\b[0-9.]+(ms|s)\b`), "DURATION"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m)^ | $`), ""},
}

// masked returns an output without the parts that differ from run to run.
func masked(text string) string {
	for _, m := range masks {
		text = m.what.ReplaceAllString(text, m.with)
	}
	return strings.TrimSpace(text)
}

var (
	digits  = regexp.MustCompile(`[0-9]+`)
	plurals = regexp.MustCompile(`\b(channel|pair|thread|message|mention)s?\b`)
	// The output of verify depends on what is ahead of the stores, and on how long it takes.
	varying = regexp.MustCompile(`(?m)^[0-9]+ values? (is|are) further than the stores and (was|were) not compared\n|^verify: [0-9.]+%.*\n`)
)

// numbered returns a masked output without its numbers, which depend on the demo.
func numbered(text string) string {
	text = varying.ReplaceAllString(text, "")
	return digits.ReplaceAllString(plurals.ReplaceAllString(masked(text), "$1"), "N")
}

// sameEnds returns the first and the last line of a numbered output.
func sameEnds(text string) string {
	all := strings.Split(numbered(text), "\n")
	return all[0] + "\n" + all[len(all)-1]
}

// prints runs a command of a page until its output, in a form, equals the page's. A command that
// changes something runs once.
func (d *duty) prints(s docs.Step, form func(string) string, once bool) {
	d.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, _ := d.run(s.Command) // the page shows failures too
		if form(d.restore.Replace(out)) == form(s.Prints) {
			return
		}
		if once || time.Now().After(deadline) {
			d.t.Errorf("%sprints\n%s\nand the page shows\n%s\nThe node says\n%s", s.Command, out, s.Prints, d.log)
			return
		}
	}
}
