package contexts

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
)

type listCmd struct {
	verbs.JSONFlag
}

func (listCmd) Help() string {
	return `
Lists the contexts by name; the one in use has a star.

Example:

    tidemark context list`
}

// info is the --json form of a context.
type info struct {
	Name string `json:"name"`
	verbs.Context
	Current bool `json:"current"`
}

// Run prints the contexts.
func (c *listCmd) Run(a *verbs.App) error {
	all, err := verbs.LoadContexts()
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(all.Named))
	if c.JSON {
		for _, name := range names {
			if err := term.PrintJSON(a.Stdout, info{name, all.Named[name], name == all.Current}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(names) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no contexts; `tidemark context add NAME --addr URL` adds one")
		return err
	}
	t := term.NewTable("", "NAME", "ADDRESS", "TOKEN FILE", "AUTHORITIES")
	for _, name := range names {
		star := ""
		if name == all.Current {
			star = "*"
		}
		n := all.Named[name]
		t.Row(star, name, term.Printable(n.Addr), term.Printable(n.TokenFile), term.Printable(n.TLSCA))
	}
	return t.Print(a.Stdout)
}
