package main

import (
	"log/slog"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/audit"
)

// auditFlags set the file of the audit log.
type auditFlags struct {
	AuditLog string `placeholder:"FILE" help:"Append a line of JSON for each erasure, admin call, publish by a token with a scope, and refusal: who, what, from where, outcome. - means standard error. A file that was moved away is opened again."`
}

// openAudit opens the log; nil without --audit-log. The caller closes it, after the node.
func (f *auditFlags) openAudit(a *verbs.App, log *slog.Logger) (*audit.Log, error) {
	if f.AuditLog == "" {
		return nil, nil
	}
	l, err := audit.Open(f.AuditLog, a.Stderr, log)
	if err != nil {
		return nil, verbs.Usagef("--audit-log: %v", err)
	}
	return l, nil
}
