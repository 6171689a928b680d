package docs

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var (
	fence    = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	code     = regexp.MustCompile("`[^`\n]*`")
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
	mdLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// Headings returns the headings of a page, except those in examples.
func Headings(page string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		all = append(all, m[1])
	}
	return all
}

// Anchors returns the anchors of the headings of a page, in GitHub's form.
func Anchors(page string) map[string]bool {
	anchors := map[string]bool{}
	for _, h := range Headings(page) {
		slug := slugOf(h)
		name := slug
		for n := 1; anchors[name]; n++ {
			name = slug + "-" + strconv.Itoa(n)
		}
		anchors[name] = true
	}
	return anchors
}

// slugOf returns a heading in lower case, with hyphens for spaces, without characters other than
// letters, digits, hyphens and underscores.
func slugOf(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(linkText.ReplaceAllString(heading, "$1")) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Links returns the relative targets of the links in a page's prose.
func Links(page string) (targets []string) {
	prose := code.ReplaceAllString(fence.ReplaceAllString(page, ""), "")
	for _, m := range mdLink.FindAllStringSubmatch(prose, -1) {
		if !strings.Contains(m[1], ":") {
			targets = append(targets, m[1])
		}
	}
	return targets
}
