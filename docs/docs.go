// Package docs has the pages and examples that the command prints.
package docs

import "embed"

// Runbook is runbook.md.
//
//go:embed runbook.md
var Runbook string

// Example has the files of ExampleFolder.
//
//go:embed import/example/*.csv
var Example embed.FS

// ExampleFolder is the example of import/table.md.
const ExampleFolder = "import/example"
