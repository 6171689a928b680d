package docs

import (
	"regexp"
	"slices"
	"strings"
)

// Block is an example of a page: the lines between two fences, without their indentation.
type Block struct {
	Page     string
	Line     int    // of the first fence
	Language string // after the first fence; empty for output and drawings
	Text     string // ends with a line break
}

var fenceLine = regexp.MustCompile("^( *)```([a-z]*)")

// Blocks returns the examples of a page in their order.
func Blocks(name, page string) (all []Block) {
	var b *Block
	indent := ""
	n := 0
	for line := range strings.Lines(page) {
		n++
		m := fenceLine.FindStringSubmatch(line)
		switch {
		case b == nil && m != nil:
			b, indent = &Block{Page: name, Line: n, Language: m[2]}, m[1]
		case b != nil && m != nil && m[1] == indent && m[2] == "":
			all = append(all, *b)
			b = nil
		case b != nil:
			b.Text += strings.TrimPrefix(line, indent)
		}
	}
	return all
}

// Of returns the text of the blocks in one of the languages.
func Of(blocks []Block, languages ...string) (texts []string) {
	for _, b := range blocks {
		if slices.Contains(languages, b.Language) {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// Step is a command of a block in the language console, with its output.
type Step struct{ Command, Prints string }

// Steps returns the commands of a block in the language console: lines that begin with "$ ", with
// the lines that a backslash or a here-document adds. The lines after a command are its output.
func Steps(text string) (steps []Step) {
	until, goesOn := "", false
	for line := range strings.Lines(text) {
		command, begins := strings.CutPrefix(line, "$ ")
		switch {
		case goesOn || until != "":
			steps[len(steps)-1].Command += line
			if goesOn = strings.HasSuffix(line, "\\\n"); strings.TrimSpace(line) == until {
				until = ""
			}
		case begins:
			steps = append(steps, Step{Command: command})
			goesOn = strings.HasSuffix(line, "\\\n")
			if m := hereDocument.FindStringSubmatch(command); m != nil {
				until = m[1]
			}
		case len(steps) > 0:
			steps[len(steps)-1].Prints += line
		}
	}
	return steps
}

var hereDocument = regexp.MustCompile(`<<'?([A-Z]+)'?`)

// Commands returns the shell commands of a block: its text, or in the language console the commands
// without their output.
func (b Block) Commands() string {
	if b.Language != "console" {
		return b.Text
	}
	text := ""
	for _, s := range Steps(b.Text) {
		text += s.Command
	}
	return text
}
