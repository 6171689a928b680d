package product

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidemark/tidemark/importer/source"
)

// liveKey is the key of a mapping without SQL: it names the tables of the database that a bridge
// follows.
const liveKey = "live"

// Changing is a table of the database whose changes a bridge follows.
type Changing struct {
	// Gives are the queries of the mapping whose rows change when a row of the table changes.
	Gives []string `yaml:"gives"`
	// Edits are queries that read the table beside the one that gives their rows: these are read
	// again as they are now. So far only messages may be.
	Edits []string `yaml:"edits"`
	// By are columns of these queries, with the columns of the table that have the same value. The
	// rows of a query that belong to a changed row are found by these.
	By map[string]string `yaml:"by"`
}

// ParseChanging parses the tables that a bridge follows from the file of --mapping. It returns none
// if the file names none.
func ParseChanging(name string, text []byte, m Mapping) (map[string]Changing, error) {
	var file struct {
		Live map[string]Changing `yaml:"live"`
	}
	if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w: a line of live is `TABLE: {gives: [messages], by: {message_id: id}}`", name, err)
	}
	if len(file.Live) == 0 {
		return nil, nil
	}
	messages := false
	for _, table := range slices.Sorted(maps.Keys(file.Live)) {
		c := file.Live[table]
		if err := c.check(m); err != nil {
			return nil, fmt.Errorf("%s: live: %s %w", name, table, err)
		}
		messages = messages || slices.Contains(c.Gives, "messages")
	}
	if !messages {
		return nil, fmt.Errorf("%s: live: no table gives messages, so a bridge would see no message", name)
	}
	return file.Live, nil
}

// found has the columns that find the rows of a query; one of each list must be there.
var found = map[string][][]string{
	"channels": {{"channel_id"}},
	"members":  {{"channel_id"}, {"user_id"}},
	"pointers": {{"channel_id", "thread_id"}, {"user_id"}},
	"follows":  {{"thread_id"}, {"user_id"}},
	"mutes":    {{"channel_id"}, {"user_id"}},
	"messages": {{"message_id"}},
}

func (c *Changing) check(m Mapping) error {
	if len(c.Gives)+len(c.Edits) == 0 {
		return errors.New("gives nothing: name the queries whose rows change with it, as in gives: [messages]")
	}
	for _, query := range c.Edits {
		if query != "messages" || c.By["message_id"] == "" {
			return fmt.Errorf("has edits: [%s]: only messages are edited by other tables, and by says which one (message_id)", query)
		}
	}
	for column, of := range c.By {
		if of == "" || !slices.Contains([]string{"channel_id", "user_id", "message_id", "thread_id"}, column) {
			return fmt.Errorf("has %s: %q in by: a row is found by channel_id, user_id, message_id and thread_id, each with the name of a column of the table", column, of)
		}
	}
	for _, query := range c.Gives {
		wanted, known := found[query]
		if !known {
			return fmt.Errorf("gives %q: want %s", query, strings.Join(slices.Sorted(maps.Keys(found)), ", "))
		}
		if m[query] == "" {
			return fmt.Errorf("gives %s, which has no SQL", query)
		}
		for _, any := range wanted {
			if !slices.ContainsFunc(any, func(column string) bool { return c.By[column] != "" }) {
				return fmt.Errorf("gives %s, and by lacks %s, without which no rows of %[1]s are found", query, strings.Join(any, " or "))
			}
		}
	}
	return nil
}

// ChangingTables returns the tables that a bridge follows. A row that belongs to a message says to
// which one only if it is removed as a whole.
func ChangingTables(changing map[string]Changing) (list []source.Followed) {
	for _, table := range slices.Sorted(maps.Keys(changing)) {
		list = append(list, source.Followed{Table: table, Updates: true, Full: len(changing[table].Edits) > 0})
	}
	return list
}
