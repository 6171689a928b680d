package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/tidemark/tidemark/internal/obs"
)

type versionCmd struct {
	jsonFlag
	SBOM bool `name:"sbom" help:"Print what this binary is made of: all modules with versions and checksums, as CycloneDX JSON."`
}

func (versionCmd) Help() string {
	return `
Example:

    tidemark version --json
    tidemark version --sbom`
}

// Run prints what was built.
func (c *versionCmd) Run(a *app) error {
	if c.SBOM {
		info, ok := debug.ReadBuildInfo()
		if !ok {
			return errors.New("this binary was built without module information: build it with `go build` inside its module")
		}
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		return e.Encode(obs.NewBill(a.build, info))
	}
	if c.JSON {
		return printJSON(a.stdout, a.build)
	}
	_, err := fmt.Fprintln(a.stdout, a.build)
	return err
}
