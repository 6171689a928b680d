package contexts

import (
	"fmt"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

type removeCmd struct {
	Context string `arg:"" help:"Name of the context."`
}

func (removeCmd) Help() string {
	return `
Removes a context. The token's file stays.

Example:

    tidemark context remove prod`
}

// Run changes the file.
func (c *removeCmd) Run(a *verbs.App) error {
	all, err := verbs.LoadContexts()
	if err != nil {
		return err
	}
	if _, err := all.Get(c.Context); err != nil {
		return err
	}
	delete(all.Named, c.Context)
	then := ""
	if all.Current == c.Context {
		all.Current, then = "", "; no context is in use"
	}
	if err := all.Save(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "removed the context %s%s\n", c.Context, then)
	return err
}
