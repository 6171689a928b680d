package snapshots

import (
	"fmt"
	"time"

	"github.com/tidemark/tidemark/app/admin"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/term"
)

// createdInfo is a new snapshot as JSON.
type createdInfo struct {
	Info
	UploadedFiles int64   `json:"uploaded_files"`
	UploadedBytes int64   `json:"uploaded_bytes"`
	Seconds       float64 `json:"seconds"`
	Unchanged     bool    `json:"unchanged"`
}

// print prints a new snapshot.
func (c *createCmd) print(a *verbs.App, n int32, t *admin.Taken, took time.Duration) (err error) {
	m, s := t.Manifest, t.Stats
	switch {
	case t.Empty:
		fmt.Fprintf(a.Stderr, "partition %d: its store is still empty, so there is nothing to take a snapshot of\n", n)
	case c.JSON:
		err = term.PrintJSON(a.Stdout, createdInfo{NewInfo(n, m, true, nil), s.UploadedFiles, s.UploadedBytes, took.Seconds(), t.Unchanged})
	case t.Unchanged:
		_, err = fmt.Fprintf(a.Stdout, "partition %d: the snapshot %s has the same position; --full uploads it again\n", n, ShortName(m))
	default:
		_, err = fmt.Fprintf(a.Stdout, "partition %d: snapshot %s, %s, of which %s were uploaded in %s\n", n, ShortName(m), config.Bytes(s.Bytes),
			config.Bytes(s.UploadedBytes), took.Round(time.Millisecond))
	}
	return err
}
