package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/term"
)

type versionCmd struct {
	verbs.JSONFlag
	SBOM bool `name:"sbom" help:"Print the modules of this binary with versions and checksums, as CycloneDX JSON."`
}

func (versionCmd) Help() string {
	return `
Example:

    tidemark version --json
    tidemark version --sbom`
}

// Run prints the version.
func (c *versionCmd) Run(a *verbs.App) error {
	if c.SBOM {
		info, ok := debug.ReadBuildInfo()
		if !ok {
			return errors.New("this binary was built without module information: build it with `go build` inside its module")
		}
		e := json.NewEncoder(a.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(obs.NewBill(a.Build, info))
	}
	if c.JSON {
		return term.PrintJSON(a.Stdout, a.Build)
	}
	_, err := fmt.Fprintln(a.Stdout, a.Build)
	return err
}
