// Package codes gives each refusal, failed state and dead letter a permanent code: people search
// for it, programs compare it, and `tidemark explain-code` prints its section of the runbook.
//
// A code belongs to a section of the runbook. Of finds it by the constant parts of the sentences
// there, so that errors need not have it. A test in cmd/tidemark compares the parts with every
// sentence of an error that stops something.
//
//	codes.go  the code of a sentence, and of a bad record's reason
//	table.go  all codes
//	log.go    adds the code of an error to log lines
package codes

import (
	"slices"
	"strings"
)

// Code is a code with its section of docs/runbook.md.
type Code struct {
	ID      string // TM and three digits; it never changes and is never reused
	Section string // the section's heading; for a dead letter its reason
	parts   []string
}

// letters is the heading of the runbook's chapter about dead letters. Their codes begin with TM1.
const letters = "Dead letters"

// Letter reports whether a code is that of a dead letter.
func (c Code) Letter() bool { return strings.HasPrefix(c.ID, "TM1") }

// Chapter is the runbook's chapter with the code's section.
func (c Code) Chapter() string {
	if c.Letter() {
		return letters
	}
	return "Refusals"
}

// All returns all codes, in order.
func All() []Code { return slices.Clone(all) }

// Find returns the code with an id, whatever the case of its letters.
func Find(id string) (Code, bool) {
	i := slices.IndexFunc(all, func(c Code) bool { return strings.EqualFold(c.ID, id) })
	if i < 0 {
		return Code{}, false
	}
	return all[i], true
}

// Of returns the id of the code of a sentence, empty if it has none. A sentence that quotes another
// one as its reason has its own code, because the part that begins first decides.
func Of(sentence string) string {
	id, first, longest := "", len(sentence), 0
	for _, c := range all {
		for _, part := range c.parts {
			if at := index(sentence, part); at >= 0 && (at < first || at == first && len(part) > longest) {
				id, first, longest = c.ID, at, len(part)
			}
		}
	}
	return id
}

// index returns the place of a part in a sentence, -1 if it is missing.
func index(sentence, part string) int {
	first := -1
	for i, piece := range strings.Split(part, "…") {
		piece = strings.TrimSpace(piece)
		at := strings.Index(sentence, piece)
		if at < 0 {
			return -1
		}
		if i == 0 {
			first = at
		}
		sentence = sentence[at+len(piece):]
	}
	return first
}

// OfLetter returns the id of the code of a dead letter's reason, empty if it has none.
func OfLetter(reason string) string {
	for _, c := range all {
		if c.Letter() && c.Section == reason {
			return c.ID
		}
	}
	return ""
}

// Marked returns a sentence with its code after it, if it has one.
func Marked(sentence string) string {
	if id := Of(sentence); id != "" {
		return sentence + " [" + id + "]"
	}
	return sentence
}
