package main

import (
	"github.com/alecthomas/kong"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, such as query unread; without it, all of them."`
}

func (helpCmd) Help() string {
	return `
Prints the same as --help.

Example:

    tidemark help query unread`
}

// Run prints the help of a command.
func (c *helpCmd) Run(k *kong.Kong) error {
	printed := false
	k.Exit = func(int) { printed = true }
	if _, err := k.Parse(append(c.Command, "--help")); err != nil && !printed { // the parser continues after --help, and misses arguments
		return verbs.Usagef("%v; `tidemark help` lists the commands", err)
	}
	return nil
}
