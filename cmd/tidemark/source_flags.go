package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidemark/tidemark/internal/importer"
	"github.com/tidemark/tidemark/internal/importer/product"
	"github.com/tidemark/tidemark/internal/importer/source"
	"github.com/tidemark/tidemark/internal/verbs"
)

// sourceFlags name another chat product and where its data is.
type sourceFlags struct {
	Product string `arg:"" enum:"table,synapse,mattermost,discourse" help:"What the source is of: synapse, mattermost, discourse, or table for a team's own tables."`
	Source  string `required:"" placeholder:"PATH|URL" help:"A folder of files, or the postgres:// address of a database, without a password: that is in $$PGPASSWORD or ~/.pgpass."`
	Slot    string `default:"import" placeholder:"NAME" help:"Name of this import, beside others of the same product (${default})."`
	Mapping string `placeholder:"FILE" help:"YAML file with the SQL of each table, for table in a database."`
}

// check checks what stands on the command line.
func (f *sourceFlags) check() error {
	if f.Source == "" || f.Product == "" {
		return nil // kong names what is missing
	}
	if f.Product != "table" && (f.Mapping != "" || !f.database()) {
		return fmt.Errorf("--source of %s is the postgres:// address of its database, and needs no --mapping", f.Product)
	}
	if f.Product == "table" && f.database() != (f.Mapping != "") {
		return errors.New("--mapping belongs to a database: the files of a folder have the names and columns of docs/import/table.md")
	}
	return nil
}

func (f *sourceFlags) database() bool {
	return strings.HasPrefix(f.Source, "postgres://") || strings.HasPrefix(f.Source, "postgresql://")
}

// mapping reads the file of --mapping. Without one the mapping is empty.
func (f *sourceFlags) mapping() (product.Mapping, error) {
	if f.Mapping == "" {
		return product.Mapping{}, nil
	}
	text, err := os.ReadFile(f.Mapping)
	if err != nil {
		return nil, err
	}
	mapping, err := product.ParseMapping(f.Mapping, text)
	if err != nil {
		return nil, verbs.Usagef("--mapping %v", err)
	}
	return mapping, nil
}

// open opens the source as of now. It returns the source's name for people, and what releases it.
func (f *sourceFlags) open(a *verbs.App, mapping product.Mapping) (from importer.Counter, name string, release func(), err error) {
	tables, name, err := f.tables(a)
	if err != nil {
		return nil, "", nil, err
	}
	release = func() { _ = tables.Close(a.Ctx) } // was only read
	switch f.Product {
	case "synapse":
		return &product.Synapse{Source: tables}, name, release, nil
	case "mattermost":
		return &product.Mattermost{Source: tables}, name, release, nil
	case "discourse":
		return &product.Discourse{Source: tables}, name, release, nil
	}
	return &product.Table{Source: tables, Mapping: mapping}, name, release, nil
}

// tables opens the folder or the database.
func (f *sourceFlags) tables(a *verbs.App) (tables source.Tables, name string, err error) {
	if !f.database() {
		if name, err = filepath.Abs(f.Source); err != nil {
			return nil, "", err
		}
		tables, err = source.OpenFolder(f.Source)
		return tables, name, err
	}
	u, err := url.Parse(f.Source)
	if err != nil {
		return nil, "", verbs.Usagef("--source is no address of a database: write it as postgres://USER@HOST:5432/DATABASE")
	}
	if _, has := u.User.Password(); has && a.Given["source"] {
		return nil, "", verbs.Usagef("--source has a password, which every user of this machine can read in the list of processes: " +
			"put the address into $TIDEMARK_SOURCE, or the password into $PGPASSWORD or ~/.pgpass")
	}
	tables, err = source.OpenPostgres(a.Ctx, f.Source)
	return tables, "postgres://" + u.Host + u.Path, err
}
