package adopt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/importer/demo"
	"github.com/tidemark/tidemark/internal/term"
)

// DemoSource is `tidemark demo-source`.
type DemoSource struct {
	Product string        `arg:"" enum:"synapse,table" help:"The product: synapse, or table for a team's own tables."`
	Source  string        `required:"" placeholder:"PATH|URL" help:"A folder to make, for table; or the postgres:// address of a database without tables, without a password: that is in $$PGPASSWORD or ~/.pgpass."`
	Play    bool          `help:"Let users send and read messages in a database with these tables, until you stop it."`
	Every   time.Duration `default:"1s" placeholder:"TIME" help:"With --play, how often a user does something (${default})."`
}

// Help is shown below the flags.
func (DemoSource) Help() string {
	return `
Makes a small source to try import, compare, heal and bridge without a chat product: a folder of files, or the tables of a database
that has none. Some of its numbers have the defects of such products. docs/import/synapse.md and docs/import/table.md show
the output of import and compare. It overwrites nothing: it refuses a folder with such files and a database with such tables.

Example:

    tidemark demo-source table --source ./export
    tidemark import table --source ./export

    createdb synapse
    tidemark demo-source synapse --source postgres://me@127.0.0.1/synapse
    tidemark import synapse --source postgres://me@127.0.0.1/synapse
    tidemark compare synapse --source postgres://me@127.0.0.1/synapse
    tidemark demo-source synapse --source postgres://me@127.0.0.1/synapse --play`
}

func (c *DemoSource) flags() *sourceFlags { return &sourceFlags{Product: c.Product, Source: c.Source} }

// Validate checks the flags.
func (c *DemoSource) Validate() error {
	if c.Source == "" || c.Product == "" {
		return nil // kong names what is missing
	}
	folder := !c.flags().database()
	if folder && c.Product != "table" {
		return fmt.Errorf("--source of %s is the postgres:// address of a database", c.Product)
	}
	if folder && c.Play {
		return errors.New("--play needs a database, and --source is a folder")
	}
	if c.Every <= 0 {
		return fmt.Errorf("--every %v: it must be longer than 0", c.Every)
	}
	return nil
}

// Run makes the source.
func (c *DemoSource) Run(a *verbs.App) error {
	if !c.flags().database() {
		names, err := demo.Folder(c.Source)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Stdout, "%s has %s\n", c.Source, term.Plural(len(names), "file"))
		return nil
	}
	name, err := c.flags().address(a)
	if err != nil {
		return err
	}
	conn, err := demo.Connect(a.Ctx, c.Source)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(a.Ctx)) }() // everything is committed
	if c.Play {
		return c.play(a, conn, name)
	}
	if err := demo.Fill(a.Ctx, conn, c.Product, time.Now()); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s has the tables of a small %s\n", name, map[string]string{"synapse": "Synapse", "table": "chat of a team"}[c.Product])
	if c.Product == "table" {
		fmt.Fprintln(a.Stdout, "their mapping is docs/import/table.yml")
	}
	return nil
}

// play lets users of the database send and read messages until the command is stopped.
func (c *DemoSource) play(a *verbs.App, conn *pgx.Conn, name string) error {
	fmt.Fprintf(a.Stderr, "tidemark: users of %s send and read messages, every %v; Ctrl-C ends it\n", name, c.Every)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	tick := time.NewTicker(c.Every)
	defer tick.Stop()
	for {
		if _, err := conn.Exec(a.Ctx, demo.Step(c.Product, r, time.Now())); err != nil {
			if a.Ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("--play: %w; a call without --play makes the tables", err)
		}
		select {
		case <-a.Ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
