package main

import "fmt"

type versionCmd struct {
	jsonFlag
}

func (versionCmd) Help() string {
	return `
Example:

    tidemark version --json`
}

// Run prints what was built.
func (c *versionCmd) Run(a *app) error {
	if c.JSON {
		return printJSON(a.stdout, a.build)
	}
	_, err := fmt.Fprintln(a.stdout, a.build)
	return err
}
