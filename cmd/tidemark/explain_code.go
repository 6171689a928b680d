package main

import (
	"fmt"
	"strings"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/docs"
	"github.com/tidemark/tidemark/internal/obs/codes"
	"github.com/tidemark/tidemark/internal/term"
)

type explainCodeCmd struct {
	Code string `arg:"" optional:"" help:"The code, such as TM017; without it, all codes."`
	verbs.JSONFlag
}

func (explainCodeCmd) Help() string {
	return `
Prints the runbook's section for a code: the messages that have it, what they mean, what to do and what not to do. A code is in
square brackets after a refusal, in /readyz and at the end of a command's error, and in the field code of log lines.

Example:

    tidemark explain-code TM017`
}

// explained is the --json form of a code.
type explained struct {
	Code    string `json:"code"`
	Chapter string `json:"chapter"`
	Section string `json:"section"`
	Text    string `json:"text,omitempty"`
}

// Run prints the section of the runbook.
func (c *explainCodeCmd) Run(a *verbs.App) error {
	if c.Code == "" {
		return c.list(a)
	}
	code, ok := codes.Find(c.Code)
	if !ok {
		return verbs.Usagef("%s is no code of this build: `%s explain-code` lists them", term.Printable(c.Code), a.Name)
	}
	text := sectionOf(code)
	if c.JSON {
		return term.PrintJSON(a.Stdout, explained{code.ID, code.Chapter(), code.Section, text})
	}
	_, err := fmt.Fprintf(a.Stdout, "%s  %s\n\n%s\n", code.ID, code.Section, text)
	return err
}

func (c *explainCodeCmd) list(a *verbs.App) error {
	for _, code := range codes.All() {
		var err error
		if c.JSON {
			err = term.PrintJSON(a.Stdout, explained{Code: code.ID, Chapter: code.Chapter(), Section: code.Section})
		} else {
			_, err = fmt.Fprintf(a.Stdout, "%s  %s\n", code.ID, code.Section)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sectionOf returns the section of a code in the runbook, or for a dead letter the row of its
// reason.
func sectionOf(c codes.Code) string {
	_, text, _ := strings.Cut(docs.Runbook, "\n## "+c.Chapter()+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	if c.Letter() {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "|") && strings.Contains(line, "`"+c.ID+"`") {
				cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
				return strings.TrimSpace(cells[len(cells)-1])
			}
		}
		return ""
	}
	_, text, _ = strings.Cut(text, "\n### "+c.Section+"\n")
	text, _, _ = strings.Cut(text, "\n### ")
	return strings.TrimSpace(text)
}
