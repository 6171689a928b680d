package snapshots

import (
	"fmt"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/snapshot"
)

type listCmd struct {
	verbs.JSONFlag
	verbs.BucketFlags
}

func (listCmd) Help() string {
	return `
Lists the snapshots of each partition, newest first. A snapshot's name is its position in the three topics. A manifest that
cannot be read has the reason in its place. The command does not check the files of a snapshot;
` + "`tidemark snapshot verify`" + ` does.

Example:

    tidemark snapshot list --snapshots s3://backups/tidemark
    tidemark snapshot list --snapshots file:///mnt/backups --partition 3 --json`
}

// Run prints a line for each snapshot.
func (c *listCmd) Run(a *verbs.App) error {
	r, err := c.Open(snapshot.Options{})
	if err != nil {
		return err
	}
	t := term.NewTable("PARTITION>", "SNAPSHOT", "TAKEN", "SIZE>", "FILES>", "DIGEST", "")
	err = c.Each(a, r, func(n int32) error {
		list, err := r.List(a.Ctx, n)
		if err != nil {
			return err
		}
		for i := range list {
			e := &list[i]
			switch m := e.Manifest; {
			case c.JSON:
				if err := term.PrintJSON(a.Stdout, NewInfo(n, m, e.Current, e.Err)); err != nil {
					return err
				}
			case m == nil:
				t.Row(n, "", "", "", "", "", e.Err)
			default:
				note := ""
				if e.Current {
					note = "current"
				}
				t.Row(n, ShortName(m), m.WrittenAt.Local().Format("2006-01-02 15:04:05"), config.Bytes(m.Bytes()), len(m.Files), m.Digest[:16], note)
			}
		}
		return nil
	})
	if !c.JSON && len(t.Rows) > 0 {
		if perr := t.Print(a.Stdout); perr != nil {
			return fmt.Errorf("printing: %w", perr)
		}
	}
	return err
}
