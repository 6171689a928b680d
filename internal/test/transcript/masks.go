package transcript

import (
	"regexp"
	"strings"
)

// masks match the parts of an output that differ from run to run.
var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?Z?)?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?\b`), "TIME"},
	{regexp.MustCompile(`/tmp/tidemark-dev-\d+`), "DATA"},
	{regexp.MustCompile(`[ ,]"?chat\.deliveries/\d+/\d+"?`), ""}, // a device reports it before or after the output
	{regexp.MustCompile(`chat\.deliveries/\d+/\d+`), "DELIVERY"},
	{regexp.MustCompile(`\b([0-9a-f]{32}|[0-9a-f]{16})\b`), "DIGEST"},
	{regexp.MustCompile(`\b[0-9.]+ ?(B|KiB|MiB|GiB)\b`), "SIZE"},
	{regexp.MustCompile(`\b[0-9.]+ ?(ms|s)\b`), "DURATION"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m)^ | $`), ""},
}

// Masked returns an output without the parts that differ from run to run.
func Masked(text string) string {
	text = progress.ReplaceAllString(text, "")
	for _, m := range masks {
		text = m.what.ReplaceAllString(text, m.with)
	}
	return strings.TrimSpace(text)
}

var (
	progress = regexp.MustCompile(`(?m)^(verify|replay|folding|reshard): [0-9.]+%.*\n`)
	digits   = regexp.MustCompile(`[0-9]+`)
	plurals  = regexp.MustCompile(`\b(channel|pair|thread|message|mention|table|file|record)s?\b`)
	// The output of verify depends on what is ahead of the stores.
	varying = regexp.MustCompile(`(?m)^[0-9]+ values? (is|are) further than the stores and (was|were) not compared\n`)
)

// Numbered returns a masked output without its numbers, which depend on the demo.
func Numbered(text string) string {
	text = varying.ReplaceAllString(text, "")
	return digits.ReplaceAllString(plurals.ReplaceAllString(Masked(text), "$1"), "N")
}

// SameEnds returns the first and the last line of a numbered output.
func SameEnds(text string) string {
	all := strings.Split(Numbered(text), "\n")
	return all[0] + "\n" + all[len(all)-1]
}

var (
	leftOut = regexp.MustCompile(`(?m)^(…|\\\.\\\.\\\.)\n`)
	cutOff  = regexp.MustCompile(`…`)
)

// Shows reports whether a page and an output are equal after form has changed both. A line "…" or
// "..." of the page stands for any number of lines, and an "…" within a line for any text.
func Shows(page, output string, form func(string) string) bool {
	pattern := leftOut.ReplaceAllString(regexp.QuoteMeta(form(page)+"\n"), "(?:.*\n)*")
	pattern = cutOff.ReplaceAllString(pattern, ".*")
	return regexp.MustCompile(`\A` + pattern + `\z`).MatchString(form(output) + "\n")
}
