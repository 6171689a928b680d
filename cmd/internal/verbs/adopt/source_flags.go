package adopt

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/product/live"
	"github.com/tidemark/tidemark/importer/source"
)

// sourceFlags name another chat product and the location of its data.
type sourceFlags struct {
	Product string `arg:"" enum:"table,synapse,mattermost,discourse,rocketchat,zulip,tinode,slack" help:"The product: synapse, mattermost, discourse, rocketchat, zulip, tinode, slack, or table for a team's own tables."`
	Source  string `required:"" placeholder:"PATH|URL" help:"A folder of files, or the postgres:// address of a database, without a password: that is in $$PGPASSWORD or ~/.pgpass."`
	Slot    string `placeholder:"NAME" help:"Name of the import, if there are several of the same product. In a database of synapse, mattermost, discourse, zulip or tinode, or of table with live in its mapping, also the name of the replication slot from which tidemark bridge continues. Without it there is no slot, and the import's name is import."`
	Mapping string `placeholder:"FILE" help:"YAML file with the SQL of each table, for table in a database."`

	moment string // the moment of the database's snapshot
}

// check checks the flags.
func (f *sourceFlags) check() error {
	if f.Source == "" || f.Product == "" {
		return nil // kong names what is missing
	}
	if f.folder() != "" && (f.Mapping != "" || f.database()) {
		return fmt.Errorf("--source of %s must be %s, without --mapping", f.Product, f.folder())
	}
	if f.Product != "table" && f.folder() == "" && (f.Mapping != "" || !f.database()) {
		return fmt.Errorf("--source of %s must be the postgres:// address of its database, without --mapping", f.Product)
	}
	if f.follows() != nil {
		if err := source.CheckSlotName(f.Slot); err != nil {
			return fmt.Errorf("--slot %w", err)
		}
	}
	if f.Product == "table" && f.database() != (f.Mapping != "") {
		return errors.New("--mapping belongs to a database: the files of a folder have the names and columns of docs/import/table.md")
	}
	return nil
}

// name is the name of the import.
func (f *sourceFlags) name() string {
	if f.Slot == "" {
		return "import"
	}
	return f.Slot
}

// follows returns the tables that a bridge of the product follows; none if --slot is only a name.
func (f *sourceFlags) follows() []source.Followed {
	if f.Slot == "" || !f.database() {
		return nil
	}
	if f.Product == "table" {
		changing, _ := f.changing() // mapping reports the error
		return product.ChangingTables(changing)
	}
	return live.Follows(f.Product)
}

// counted returns an error if the product has no numbers.
func (f *sourceFlags) counted() error {
	if f.Product == "slack" {
		return errors.New("a Slack export has no unread counts: there is nothing to compare or to correct")
	}
	return nil
}

// folder describes the folder that a product has as its source; "" if the source is, or may be, a
// database.
func (f *sourceFlags) folder() string {
	return map[string]string{"slack": "the unpacked folder of an export", "rocketchat": "the folder that mongodump has written of its database"}[f.Product]
}

// changing reads the tables that a bridge of table follows from the file of --mapping; none if the
// file does not name them.
func (f *sourceFlags) changing() (map[string]product.Changing, error) {
	mapping, err := f.mapping()
	if f.Mapping == "" || err != nil {
		return nil, err
	}
	text, err := os.ReadFile(f.Mapping)
	if err != nil {
		return nil, err
	}
	changing, err := product.ParseChanging(f.Mapping, text, mapping)
	if err != nil {
		return nil, verbs.Usagef("--mapping %v", err)
	}
	return changing, nil
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

// open opens the source as of a snapshot, "" for now. It returns the source's name for people, and
// a function that releases it.
func (f *sourceFlags) open(a *verbs.App, mapping product.Mapping, snapshot string) (from importer.Counter, name string, release func(), err error) {
	tables, name, err := f.tables(a, snapshot)
	if err != nil {
		return nil, "", nil, err
	}
	release = func() { _ = tables.Close(a.Ctx) } // it was only read
	switch f.Product {
	case "synapse":
		return &product.Synapse{Source: tables}, name, release, nil
	case "mattermost":
		return &product.Mattermost{Source: tables}, name, release, nil
	case "discourse":
		return &product.Discourse{Source: tables}, name, release, nil
	case "zulip":
		return &product.Zulip{Source: tables}, name, release, nil
	case "tinode":
		return &product.Tinode{Source: tables}, name, release, nil
	case "slack":
		return &product.Slack{Source: tables}, name, release, nil
	case "rocketchat":
		return &product.RocketChat{Source: tables}, name, release, nil
	}
	return &product.Table{Source: tables, Mapping: mapping}, name, release, nil
}

// tables opens the folder or the database.
func (f *sourceFlags) tables(a *verbs.App, snapshot string) (tables source.Tables, name string, err error) {
	if !f.database() {
		if name, err = filepath.Abs(f.Source); err != nil {
			return nil, "", err
		}
		switch f.Product {
		case "slack":
			tables, err = source.OpenArrays(f.Source)
		case "rocketchat":
			tables, err = source.OpenDump(f.Source)
		default:
			tables, err = source.OpenFolder(f.Source)
		}
		return tables, name, err
	}
	if name, err = f.address(a); err != nil {
		return nil, "", err
	}
	db, err := source.OpenSnapshot(a.Ctx, f.Source, snapshot)
	if err != nil {
		return nil, "", err
	}
	if f.moment, err = db.Moment(a.Ctx); err != nil {
		_ = db.Close(a.Ctx) // it was only read
		return nil, "", err
	}
	return db, name, nil
}

// title is the name of the source for people.
func (f *sourceFlags) title(a *verbs.App) (string, error) {
	if f.database() {
		return f.address(a)
	}
	return filepath.Abs(f.Source)
}

// address checks the address of the database, and returns it without the user.
func (f *sourceFlags) address(a *verbs.App) (string, error) {
	u, err := url.Parse(f.Source)
	if err != nil {
		return "", verbs.Usagef("--source is not the address of a database: write it as postgres://USER@HOST:5432/DATABASE")
	}
	if _, has := u.User.Password(); has && a.Given["source"] {
		return "", verbs.Usagef("--source has a password, which every user of this machine can read in the list of processes: " +
			"put the address into $TIDEMARK_SOURCE, or the password into $PGPASSWORD or ~/.pgpass")
	}
	return "postgres://" + u.Host + u.Path, nil
}
