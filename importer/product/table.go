package product

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// TableNames are the tables of the product Table, in the order in which it reads them. Only a
// comparison reads counts.
var TableNames = []string{"channels", "members", "pointers", "follows", "mutes", "messages", "counts"}

// Heals are the keys of a mapping with statements instead of queries. They correct the product's
// own number of a channel or of a thread.
var Heals = []string{"heal", "heal_thread"}

// Mapping has the SQL of each table.
type Mapping map[string]string

// ParseMapping parses the file of --mapping.
func ParseMapping(name string, text []byte) (Mapping, error) {
	m, file := Mapping{}, map[string]yaml.Node{}
	err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&file)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w: write a line `messages: |` with the SQL of the messages below it, and so on", name, err)
	}
	for table, node := range file {
		if table == liveKey {
			continue // ParseChanging
		}
		var sql string
		if err := node.Decode(&sql); err != nil {
			return nil, fmt.Errorf("%s: %w: write a line `messages: |` with the SQL of the messages below it, and so on", name, err)
		}
		m[table] = sql
		if !slices.Contains(TableNames, table) && !slices.Contains(Heals, table) {
			return nil, fmt.Errorf("%s: there is no table %q: want %s", name, table, strings.Join(slices.Concat(TableNames, Heals, []string{liveKey}), ", "))
		}
	}
	if m["messages"] == "" {
		return nil, fmt.Errorf("%s has no SQL for messages: without them there is nothing to import", name)
	}
	return m, nil
}

// Table is a team's own schema, which queries or files turn into tables of fixed names and columns.
type Table struct {
	Source  source.Tables
	Mapping Mapping // empty for files
}

// Events reads the tables. Only messages must exist.
func (t *Table) Events(ctx context.Context, p *importer.Problems, emit func(importer.Origin, *importer.Event) error) error {
	r := reading{t.Source, p, emit}
	for _, table := range []struct {
		name    string
		columns []string
		as      func(fields, *importer.Event) bool
	}{
		{"channels", []string{"channel_id"}, tableChannel},
		{"channels", []string{"channel_id"}, tableChannelDeleted},
		{"members", []string{"channel_id", "user_id"}, tableMember},
		{"pointers", []string{"channel_id", "user_id"}, tablePointer},
		{"follows", []string{"channel_id", "thread_id", "user_id"}, tableFollow},
		{"mutes", []string{"channel_id", "user_id"}, tableMute},
		{"messages", []string{"channel_id", "message_id", "sender_id", "posted_at"}, tableMessage},
	} {
		found, err := r.table(ctx, table.name, t.Mapping[table.name], table.columns, table.as)
		if err != nil {
			return err
		}
		if !found && table.name == "messages" {
			return errors.New("the source has no messages: a folder needs messages.csv or messages.ndjson, a database --mapping with their SQL")
		}
	}
	return nil
}

func tableChannel(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindChannel, Channel: f.Text("channel_id"), Direct: f.truth("direct")}
	return true
}

func tableChannelDeleted(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindChannelDeleted, Channel: f.Text("channel_id"), At: f.at("deleted_at")}
	return e.At > 0
}

func tableMember(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMember, Channel: f.Text("channel_id"), User: f.Text("user_id"), At: f.at("joined_at"), Until: f.at("left_at")}
	return true
}

func tableMessage(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindPost, Channel: f.Text("channel_id"), ID: f.Text("message_id"), User: f.Text("sender_id"), Thread: f.Text("thread_id"),
		Text: f.Text("body"), At: f.at("posted_at"), Until: f.at("deleted_at"), Mentions: list(f.Text("mentions")),
		MentionAll: f.truth("mention_all"), Silent: f.truth("silent"), Broadcast: f.truth("broadcast"),
	}
	return true
}

func tablePointer(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindPointer, Channel: f.Text("channel_id"), User: f.Text("user_id"), Thread: f.Text("thread_id"),
		ID: f.Text("message_id"), Seq: f.seq("seq"), At: f.at("time"), Until: f.at("read_at"),
	}
	return true
}

func tableFollow(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindFollow, Channel: f.Text("channel_id"), User: f.Text("user_id"), Thread: f.Text("thread_id"), At: f.at("followed_at"),
	}
	if at := f.at("unfollowed_at"); at > 0 {
		e.Kind, e.At = importer.KindUnfollow, at
	}
	return true
}

func tableMute(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMute, Channel: f.Text("channel_id"), User: f.Text("user_id"), At: f.at("muted_at")}
	return true
}

// Counts reads the team's own numbers.
func (t *Table) Counts(ctx context.Context, users []string, p *importer.Problems, emit func(importer.Count) error) error {
	query := t.Mapping["counts"]
	if query != "" && len(users) > 0 {
		query = "SELECT * FROM (" + strings.TrimRight(query, "; \n") + "\n) AS counts WHERE user_id::text IN (" + literals(users) + ")"
	}
	found, err := counts{t.Source, p, [4]string{"channel_id", "user_id", "thread_id", "mentions"}}.read(ctx, query, users, emit)
	if err == nil && !found {
		return errors.New("the source has no counts: a folder needs counts.csv or counts.ndjson with the numbers that you show now, a mapping their SQL")
	}
	return err
}
