package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Followed is a table whose changes a bridge needs.
type Followed struct {
	Table    string
	Updates  bool // also changes and removals of rows; otherwise only new rows
	Full     bool // changed and removed rows with all of their old columns
	Optional bool // older versions of the product lack it
}

// Publications returns the names of the publications that belong to a slot: one for tables with
// updates, and one for tables of which only new rows are published.
func Publications(slot string) []string { return []string{slot, slot + "_inserts"} }

// catalogued is the catalog's information about a table.
type catalogued struct {
	identity  string          // replica identity: d, n, f or i
	key       bool            // identity d has a primary key, identity i an index
	published map[string]bool // insert, update and delete
}

// identified reports whether PostgreSQL can name a changed row of the table to a subscriber. If it
// cannot, a publication of the table's updates makes PostgreSQL refuse these updates.
func (c *catalogued) identified() bool {
	return c.identity == "f" || c.key && (c.identity == "d" || c.identity == "i")
}

// full reports whether the table needs the replica identity FULL, but has another one.
func (t *Followed) full(c *catalogued) bool {
	return t.Full && c.identity != "f" || t.Updates && !c.identified()
}

// CheckPublications checks before a slot is made that the database can be followed: it writes the
// log for that, the slot's publications have everything that the tables need, and none of them
// stops the product.
func CheckPublications(ctx context.Context, dsn, slot string, tables []Followed) error {
	conn, err := connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var level string
	var standby bool
	if err := conn.QueryRow(ctx, "SELECT current_setting('wal_level'), pg_is_in_recovery()").Scan(&level, &standby); err != nil {
		return inWords("the settings of the database", err)
	}
	if standby {
		return fmt.Errorf("a replication slot belongs to the primary, and --source is a standby: name the primary")
	}
	if level != "logical" {
		return fmt.Errorf("the database has wal_level = %s, so its changes cannot be followed: set wal_level = logical in its postgresql.conf, and restart it", level)
	}
	found, err := readCatalog(ctx, conn, slot, tables)
	if err != nil {
		return err
	}
	return judge(slot, tables, found)
}

// readCatalog reads the catalog's information about the tables, and about all other tables in the
// slot's publications.
func readCatalog(ctx context.Context, conn *pgx.Conn, slot string, tables []Followed) (map[string]*catalogued, error) {
	var names []string
	for _, t := range tables {
		names = append(names, t.Table)
	}
	rows, err := conn.Query(ctx, `
		SELECT c.relname::text, c.relreplident::text, EXISTS (SELECT 1 FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid
				AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident END),
			coalesce(bool_or(p.pubinsert), false), coalesce(bool_or(p.pubupdate), false), coalesce(bool_or(p.pubdelete), false)
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		LEFT JOIN pg_catalog.pg_publication_tables t ON t.schemaname = n.nspname AND t.tablename = c.relname AND t.pubname = ANY($1)
		LEFT JOIN pg_catalog.pg_publication p ON p.pubname = t.pubname
		WHERE c.relkind IN ('r', 'p') AND (t.pubname IS NOT NULL OR c.relname = ANY($2) AND pg_catalog.pg_table_is_visible(c.oid))
		GROUP BY c.oid, c.relname, c.relreplident`, Publications(slot), names)
	if err != nil {
		return nil, inWords("the publications of the database", err)
	}
	found := map[string]*catalogued{}
	var name string
	var c catalogued
	var insert, update, remove bool
	_, err = pgx.ForEachRow(rows, []any{&name, &c.identity, &c.key, &insert, &update, &remove}, func() error {
		found[name] = &catalogued{c.identity, c.key, map[string]bool{"insert": insert, "update": update, "delete": remove}}
		return nil
	})
	if err != nil {
		return nil, inWords("the publications of the database", err)
	}
	return found, nil
}

// judge returns the first reason why a slot cannot be followed, with the statements that solve it.
func judge(slot string, tables []Followed, found map[string]*catalogued) error {
	var stopped, missing []string
	for name, c := range found {
		if (c.published["update"] || c.published["delete"]) && !c.identified() {
			stopped = append(stopped, name)
		}
	}
	if len(stopped) > 0 {
		slices.Sort(stopped)
		return fmt.Errorf("the publication %s covers updates of %s, which have no primary key: PostgreSQL refuses these updates of the product as long as it "+
			"exists. Remove it at once (DROP PUBLICATION %[1]s), then run:\n%[3]s", slot, strings.Join(stopped, ", "), Statements(slot, tables, found))
	}
	lacks := false
	for _, t := range tables {
		c := found[t.Table]
		if c == nil {
			if !t.Optional {
				missing = append(missing, t.Table)
			}
			continue
		}
		lacks = lacks || !c.published["insert"] || t.Updates && (!c.published["update"] || !c.published["delete"]) || t.full(c)
	}
	if len(missing) > 0 {
		return fmt.Errorf("the source has no table %s: is it the database of this product, with its schema in the search_path?", strings.Join(missing, ", "))
	}
	if lacks {
		return fmt.Errorf("the publications of the slot %s lack tables: let the owner of the tables run this:\n%s", slot, Statements(slot, tables, found))
	}
	return nil
}

// Statements returns the SQL that makes the publications of a slot. The tables' identities come
// first, because a publication of updates without them stops the product.
func Statements(slot string, tables []Followed, found map[string]*catalogued) string {
	var b strings.Builder
	lists := map[bool][]string{}
	for _, t := range tables {
		c := found[t.Table]
		if c == nil {
			continue
		}
		if t.full(c) {
			fmt.Fprintf(&b, "    ALTER TABLE %s REPLICA IDENTITY FULL;\n", t.Table)
		}
		lists[t.Updates] = append(lists[t.Updates], t.Table)
	}
	for i, name := range Publications(slot) {
		list := lists[i == 0]
		if len(list) == 0 {
			continue
		}
		publish := "insert, update, delete"
		if i == 1 {
			publish = "insert"
		}
		fmt.Fprintf(&b, "    DROP PUBLICATION IF EXISTS %s;\n    CREATE PUBLICATION %[1]s FOR TABLE %s WITH (publish = '%s');\n", quoted(name), strings.Join(list, ", "), publish)
	}
	return b.String() + "    -- then run the command again" // a comment, so that all of it can be pasted, with what an error has behind it
}
