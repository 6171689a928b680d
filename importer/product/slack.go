package product

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// Slack is the export of a Slack workspace. It has no pointers, so the import assumes that all
// members at its end have read everything.
type Slack struct {
	Source source.Tables

	users map[string]string // name by id
}

// slackLists are the files with the conversations of an export. Only exports with private data have
// more than the first one.
var slackLists = []struct {
	name   string
	direct bool
	byID   bool // messages are in a folder with the name of the id
}{{"channels", false, false}, {"groups", false, false}, {"mpims", true, false}, {"dms", true, true}}

// conversation is a channel, a private one, or a direct one.
type conversation struct {
	id, folder string
	origin     importer.Origin
	created    int64
	direct     bool
	members    []string // at the end of the export

	newest  int64
	moves   map[string][]move
	deleted map[string]int64 // times of deletions for messages of which the export has nothing else, by id
}

// move is a message about a user who joined or left.
type move struct {
	at   int64
	join bool
}

// Events reads the lists of conversations, and then the folder of each one.
func (s *Slack) Events(ctx context.Context, p *importer.Problems, emit func(importer.Origin, *importer.Event) error) error {
	s.users = map[string]string{}
	r := reading{s.Source, p, emit}
	found, err := r.table(ctx, "users", "", []string{"id"}, func(f fields, _ *importer.Event) bool {
		s.users[f.Text("id")] = cmp.Or(f.Text("name"), f.Text("id"))
		return false
	})
	if err != nil {
		return err
	}
	if !found {
		return errors.New("the source has no users.json: is it the unpacked folder of a Slack export?")
	}
	list, err := s.conversations(ctx, &r)
	if err != nil {
		return err
	}
	messages, folders := int64(0), 0
	for _, c := range list {
		n, found, err := s.conversation(ctx, &r, c)
		if err != nil {
			return err
		}
		if found {
			folders++
		}
		messages += n
	}
	if len(list) > 0 && folders == 0 {
		return errors.New("the source has the lists of an export, and none of the folders with messages: was it unpacked whole?")
	}
	p.Read("messages", messages)
	return nil
}

// conversations reads the lists.
func (s *Slack) conversations(ctx context.Context, r *reading) (list []*conversation, err error) {
	for _, l := range slackLists {
		found, err := r.table(ctx, l.name, "", []string{"id"}, func(f fields, e *importer.Event) bool {
			c := &conversation{
				id: f.Text("id"), folder: f.Text("name"), origin: f.origin(), created: f.at("created"), direct: l.direct,
				moves: map[string][]move{}, deleted: map[string]int64{},
			}
			if l.byID {
				c.folder = c.id
			}
			if text := f.Text("members"); text != "" && json.Unmarshal([]byte(text), &c.members) != nil {
				r.problems.Add(f.origin(), "members are no list of ids: taken as none", c.id)
			}
			list = append(list, c)
			*e = importer.Event{Kind: importer.KindChannel, Channel: c.id, Direct: c.direct}
			return true
		})
		if err != nil {
			return nil, err
		}
		if !found && l.name == "channels" {
			return nil, errors.New("the source has no channels.json: is it the unpacked folder of a Slack export?")
		}
	}
	return list, nil
}

// conversation reads a folder twice: the members and the deletions are known only at its end.
func (s *Slack) conversation(ctx context.Context, r *reading, c *conversation) (messages int64, found bool, err error) {
	if c.folder == "" {
		return 0, false, nil
	}
	found, err = s.Source.Rows(ctx, c.folder, "", func(row *source.Row) error {
		if f := (fields{row, &importer.Problems{}}); f.Has("ts") { // the other reading reports
			c.survey(f)
		}
		messages++
		return nil
	})
	if err != nil {
		return 0, found, err
	}
	if err := c.membership(r); err != nil {
		return 0, found, err
	}
	_, err = s.Source.Rows(ctx, c.folder, "", func(row *source.Row) error {
		f := fields{row, r.problems}
		var e importer.Event
		if !s.post(f, c, &e) {
			return nil
		}
		return r.emit(f.origin(), &e)
	})
	return messages, found, err
}

// survey takes the facts of a message that other messages need.
func (c *conversation) survey(f fields) {
	at := f.at("ts")
	if at > 0 {
		c.newest = max(c.newest, at)
	}
	switch kind := f.Text("subtype"); kind {
	case "channel_join", "group_join", "channel_leave", "group_leave":
		if user := f.Text("user"); user != "" && at > 0 {
			c.moves[user] = append(c.moves[user], move{at, kind == "channel_join" || kind == "group_join"})
		}
	case "message_deleted":
		c.deleted[f.Text("deleted_ts")] = at
	}
}

// membership emits the memberships, and for each member at the end a read of everything.
func (c *conversation) membership(r *reading) error {
	is := map[string]bool{}
	for _, user := range c.members {
		is[user] = true
	}
	users := maps.Clone(is)
	for user := range c.moves {
		users[user] = true
	}
	for _, user := range slices.Sorted(maps.Keys(users)) {
		for _, m := range c.stays(r, user, is[user]) {
			e := importer.Event{Kind: importer.KindMember, Channel: c.id, User: user, At: m[0], Until: m[1]}
			if err := r.emit(c.origin, &e); err != nil {
				return err
			}
		}
		if !is[user] || c.newest == 0 {
			continue
		}
		// Private, because nobody can tell whether they have really read it.
		e := importer.Event{Kind: importer.KindPointer, Channel: c.id, User: user, At: c.newest, Until: c.newest, Threads: true, Private: true}
		if err := r.emit(c.origin, &e); err != nil {
			return err
		}
	}
	return nil
}

// stays returns the spans in which a user was a member, by the messages about joins and leaves. The
// list of members decides the end; 0 is no end.
func (c *conversation) stays(r *reading, user string, member bool) (all [][2]int64) {
	moves := c.moves[user]
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Compare(a.at, b.at) })
	since, in := c.created, len(moves) == 0 || !moves[0].join
	for _, m := range moves {
		switch {
		case m.join && !in:
			since, in = m.at, true
		case !m.join && in:
			all, in = append(all, [2]int64{since, max(m.at, since)}), false
			since = m.at
		}
	}
	switch {
	case in && !member:
		r.problems.Add(c.origin, "somebody is no member any more, and no message says since when: taken as the end of the export", c.id+" "+user)
		all = append(all, [2]int64{since, max(c.newest, since)})
	case in:
		all = append(all, [2]int64{since, 0})
	case member:
		r.problems.Add(c.origin, "somebody is a member, and their last message about it says that they left: taken as joined again then", c.id+" "+user)
		all = append(all, [2]int64{since + 1, 0})
	}
	return all
}

// Counts returns an error: there are none.
func (*Slack) Counts(context.Context, []string, *importer.Problems, func(importer.Count) error) error {
	return errors.New("a Slack export has no unread counts: there is nothing to compare with")
}
