package contexts

import (
	"fmt"
	"path/filepath"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

type addCmd struct {
	Name      string `arg:"" help:"Name of the context."`
	Addr      string `required:"" placeholder:"URL" help:"URL of the node."`
	TokenFile string `placeholder:"FILE" help:"File with a token. The context stores the file's name, not the token."`
	TLSCA     string `name:"tls-ca" placeholder:"FILE" help:"PEM file of the authorities that sign the node's certificate, if its URL is https; by default the system's."`
	Use       bool   `help:"Use the new context from now on."`
}

func (addCmd) Help() string {
	return `
Adds a context. It does not call the node; ` + "`tidemark query`" + ` does.

Example:

    tidemark context add prod --addr https://tidemark.example.com --token-file ~/prod.token --use`
}

// Run changes the file.
func (c *addCmd) Run(a *verbs.App) error {
	if err := verbs.CheckNode("--addr", c.Addr, c.TokenFile, c.TLSCA); err != nil {
		return verbs.Usagef("%v", err)
	}
	all, err := verbs.LoadContexts()
	if err != nil {
		return err
	}
	n := verbs.Context{Addr: c.Addr, TokenFile: c.TokenFile, TLSCA: c.TLSCA}
	for _, file := range []*string{&n.TokenFile, &n.TLSCA} {
		if *file == "" {
			continue
		}
		if *file, err = filepath.Abs(*file); err != nil { // verbs read it from other folders
			return err
		}
	}
	if err := all.Add(c.Name, n); err != nil {
		return verbs.Usagef("%v", err)
	}
	then := fmt.Sprintf("`tidemark context use %s` makes it the one in use", c.Name)
	if c.Use {
		all.Current, then = c.Name, "it is in use"
	}
	if err := all.Save(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "the context %s is %s; %s\n", c.Name, n.Addr, then)
	return err
}
