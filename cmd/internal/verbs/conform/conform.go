// Package conform has the verb `tidemark conformance`.
package conform

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/conformance"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
)

// Cmd is `tidemark conformance`.
type Cmd struct {
	verbs.JSONFlag
	verbs.NodeFlags
	Target  string        `placeholder:"URL" env:"-" help:"The service; or give it with --addr or --context."`
	Story   []string      `placeholder:"NAME" help:"Run this story only; may be given several times. A name that ends in * selects all stories with that prefix."`
	List    bool          `help:"List the stories, and run none."`
	Timeout time.Duration `default:"10s" placeholder:"DURATION" help:"How long a call may take, and how long a service without tokens may need to reach the right answer (${default})."`
	AtOnce  int           `default:"8" placeholder:"N" help:"Number of stories to run at the same time (${default})."`
	Keep    bool          `help:"Keep the channels of the stories. Without it, the channels of stories that passed are deleted."`
}

// Help has an example.
func (Cmd) Help() string {
	return `
Runs the stories of Tidemark's own tests against a service of its API. It writes their events with Publish, calls GetUnread,
GetInbox, GetThreads, ExplainUnread, GetChannel, GetReaders and GetReceipts as JSON over HTTP, and compares the answers. Most
stories are defects that users met in other products. Each story compares only the fields that it is about.

It writes to the service: events of its own users and channels, whose names begin with conf- and some digits. Use a service for
tests. The exit code is 1 if a story differs.

Example:

    tidemark conformance --target http://127.0.0.1:8080
    tidemark conformance --target https://unread.example --json --timeout 30s
    tidemark conformance --target http://127.0.0.1:8080 --story museum-35.1 --story 'seed/*'
    tidemark conformance --list`
}

// Validate checks the flags.
func (c *Cmd) Validate() error {
	if c.Timeout <= 0 || c.AtOnce < 1 {
		return fmt.Errorf("--timeout and --at-once must be above 0")
	}
	if c.Target != "" {
		c.Addr = c.Target
	}
	return c.NodeFlags.Validate()
}

// errNotConform ends the command after it has printed the differing stories.
var errNotConform = errors.New("the service's answers differ from the stories")

// Run runs the stories.
func (c *Cmd) Run(a *verbs.App) error {
	stories, err := c.chosen()
	if err != nil {
		return err
	}
	if c.List {
		return c.list(a.Stdout, stories)
	}
	if c.Target == "" && !a.Given["addr"] && !a.Given["context"] {
		return verbs.Usagef("name the service with --target URL: the verb writes events to it")
	}
	client, token := c.HTTP()
	sum, err := conformance.Run(a.Ctx, conformance.Config{
		URL: c.Addr, Token: token, HTTP: client, Stories: stories, Timeout: c.Timeout, AtOnce: c.AtOnce, Keep: c.Keep,
	}, func(r *conformance.Result) error {
		if c.JSON {
			return term.PrintJSON(a.Stdout, r)
		}
		return printResult(a.Stdout, r)
	})
	if err != nil {
		return err
	}
	if c.JSON {
		err = term.PrintJSON(a.Stdout, map[string]any{"summary": sum})
	} else {
		err = printSummary(a.Stdout, sum)
	}
	if err == nil && sum.Differ > 0 {
		err = errNotConform
	}
	return err
}

// chosen returns the stories to run.
func (c *Cmd) chosen() ([]conformance.Story, error) {
	all, err := conformance.Stories()
	if err != nil || len(c.Story) == 0 {
		return all, err
	}
	used := map[string]bool{}
	chosen := slices.DeleteFunc(all, func(s conformance.Story) bool {
		leave := true
		for _, name := range c.Story {
			begin, many := strings.CutSuffix(name, "*")
			if s.Name == name || many && strings.HasPrefix(s.Name, begin) {
				used[name], leave = true, false
			}
		}
		return leave
	})
	for _, name := range c.Story {
		if !used[name] {
			return nil, verbs.Usagef("--story %s: there is no such story; --list has the names", name)
		}
	}
	return chosen, nil
}

func (c *Cmd) list(w io.Writer, stories []conformance.Story) error {
	if !c.JSON {
		t := term.NewTable("STORY", "TITLE")
		for i := range stories {
			t.Row(stories[i].Name, term.Cut(stories[i].Title, 100))
		}
		return t.Print(w)
	}
	for i := range stories {
		s := &stories[i]
		if err := term.PrintJSON(w, map[string]any{"name": s.Name, "title": s.Title, "source": s.Source}); err != nil {
			return err
		}
	}
	return nil
}

// printResult prints a line, and for a story that differs the steps to reproduce it.
func printResult(w io.Writer, r *conformance.Result) error {
	var b strings.Builder
	if r.OK {
		fmt.Fprintf(&b, "ok       %-24s %s\n", r.Name, term.Cut(r.Title, 100))
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintf(&b, "differs  %-24s %s\n", r.Name, r.Title)
	if r.Source.Product != "" {
		fmt.Fprintf(&b, "    seen in %s, issue %s\n", r.Source.Product, r.Source.Issue)
	}
	for _, line := range r.Steps {
		fmt.Fprintf(&b, "    | %s\n", term.Printable(line))
	}
	if r.Answer != "" {
		fmt.Fprintf(&b, "    the story says: %s\n", term.Printable(r.Answer))
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "      %s: got %s, want %s\n", term.Printable(d.Field), term.Printable(d.Got), term.Printable(d.Want))
	}
	if r.Call != "" {
		fmt.Fprintf(&b, "    the call: %s\n", term.Printable(r.Call))
	}
	if r.Error != "" {
		fmt.Fprintf(&b, "    no answer: %s\n", term.Printable(r.Error))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printSummary(w io.Writer, s *conformance.Summary) error {
	_, err := fmt.Fprintf(w, "\n%d stories told to %s in %.1f s: %d ok, %d differ\n", s.Stories, term.Printable(s.Target), s.Seconds, s.OK, s.Differ)
	return err
}
