package contexts

import (
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

type useCmd struct {
	Context string `arg:"" optional:"" help:"Name of the context."`
	None    bool   `help:"Use no context: query the node on this machine again."`
}

func (useCmd) Help() string {
	return `
Chooses the context for verbs that call a node and have neither an address nor a context on the command line. Verbs that destroy,
and verbs that work on stores without a node, use a context only if their command line names it.

Example:

    tidemark context use prod
    tidemark context use --none`
}

// Validate checks that either a context or --none is given.
func (c *useCmd) Validate() error {
	if (c.Context == "") != c.None {
		return errors.New("name a context, or give --none")
	}
	return nil
}

// Run changes the file.
func (c *useCmd) Run(a *verbs.App) error {
	all, err := verbs.LoadContexts()
	if err != nil {
		return err
	}
	used := "no context is in use"
	if !c.None {
		n, err := all.Get(c.Context)
		if err != nil {
			return err
		}
		used = fmt.Sprintf("the context %s is in use: %s", c.Context, n.Addr)
	}
	all.Current = c.Context
	if err := all.Save(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Stdout, used)
	return err
}
