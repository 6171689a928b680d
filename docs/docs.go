// Package docs has the pages that the command prints.
package docs

import _ "embed"

// Runbook is runbook.md.
//
//go:embed runbook.md
var Runbook string
