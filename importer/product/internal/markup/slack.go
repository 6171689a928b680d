package markup

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// link is the content of angle brackets: a user, a channel, a command or an address, each perhaps
// with a text.
var link = regexp.MustCompile(`<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>`)

// SlackMentions returns the users that a text names. A group has an id, but the export does not
// have its members.
func SlackMentions(text, author string) (ids []string, all bool) {
	if !strings.Contains(text, "<") {
		return nil, false
	}
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] == "@" && m[2] != author && m[2] != "" && !slices.Contains(ids, m[2]):
			ids = append(ids, m[2])
		case m[1] == "!" && (m[2] == "channel" || m[2] == "here" || m[2] == "everyone"):
			all = true
		}
	}
	return ids, all
}

var escapes = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// SlackText returns a text as people see it. names has the names of users, by id.
func SlackText(text string, names map[string]string) string {
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	text = link.ReplaceAllStringFunc(text, func(found string) string {
		m := link.FindStringSubmatch(found)
		switch m[1] {
		case "@":
			return "@" + cmp.Or(names[m[2]], m[3], m[2])
		case "#":
			return "#" + cmp.Or(m[3], m[2])
		case "!":
			return "@" + strings.TrimPrefix(cmp.Or(m[3], m[2]), "@")
		}
		return cmp.Or(m[3], m[2])
	})
	return escapes.Replace(text)
}
