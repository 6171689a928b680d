package product

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// mattermostLive maps changes of a Mattermost database. It leaves out rows without a new fact, as
// far as the bridge remembers them, because Mattermost writes a row of channelmembers at each
// mention.
type mattermostLive struct {
	Mattermost

	kinds    memory[string]   // type of a channel
	roots    memory[string]   // channel of a thread
	newest   memory[int64]    // time of a channel's newest seen post
	viewed   memory[int64]    // pointer of a user in a channel or thread
	muted    memory[bool]     // by channel and user
	followed memory[[2]int64] // following and its time, by thread and user
	edited   memory[int64]    // time of the last edit of a message
}

// Divisible reports true.
func (*mattermostLive) Divisible() bool { return true }

// Transaction maps a transaction.
func (m *mattermostLive) Transaction(ctx context.Context, tx *source.Transaction, p *importer.Problems, emit Emit) error {
	for i := range tx.Changes {
		c := &tx.Changes[i]
		f := fields{c.Row, p}
		send := func(e *importer.Event) error { return emit(f.origin(), e) }
		if c.Kind == source.Removed {
			if err := m.removed(tx, f, send); err != nil {
				return err
			}
			continue
		}
		var err error
		switch c.Row.Table {
		case "channels":
			err = m.channelChanged(f, send)
		case "channelmemberhistory":
			err = m.memberChanged(ctx, c, f, send)
		case "channelmembers":
			err = m.viewChanged(ctx, tx, f, send)
		case "threadmemberships":
			err = m.threadChanged(ctx, tx, f, send)
		case "posts":
			err = m.postChanged(ctx, c, f, send)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removed maps a row that is gone. Mattermost removes the row of channelmembers when a user leaves
// the channel, and with it their mute: if they come back, they have a new row.
func (m *mattermostLive) removed(tx *source.Transaction, f fields, send func(*importer.Event) error) error {
	switch f.Table {
	case "posts":
		f.problems.Add(f.origin(), "a message was removed from the database instead of being marked as deleted: it stays", f.Text("id"))
	case "channelmembers":
		e := &importer.Event{Kind: importer.KindUnmute, Channel: f.Text("channelid"), User: f.Text("userid"), At: tx.Time.UnixMilli()}
		m.viewed.set(e.Channel+"\x00"+e.User, 0)
		if m.muted.set(e.Channel+"\x00"+e.User, false) {
			return send(e)
		}
	}
	return nil
}

func (m *mattermostLive) channelChanged(f fields, send func(*importer.Event) error) error {
	m.kinds.set(f.Text("id"), f.Text("type"))
	var e importer.Event
	if !m.channelDeleted(f, &e) {
		return nil
	}
	return send(&e)
}

func (m *mattermostLive) memberChanged(ctx context.Context, c *source.Change, f fields, send func(*importer.Event) error) error {
	var e importer.Event
	m.member(f, &e)
	if c.Kind == source.Updated {
		if e.Until == 0 {
			return nil
		}
		e.Kind, e.At, e.Until = importer.KindLeave, e.Until, 0
		return send(&e)
	}
	kind, err := m.kind(ctx, e.Channel)
	e.Direct = kind == "D" || kind == "G"
	if err != nil {
		return err
	}
	return send(&e)
}

// viewChanged maps a row of channelmembers. Mattermost moves lastviewedat back when a user marks a
// post as unread.
func (m *mattermostLive) viewChanged(ctx context.Context, tx *source.Transaction, f fields, send func(*importer.Event) error) error {
	var e importer.Event
	if m.pointer(f, &e) && m.viewed.set(e.Channel+"\x00"+e.User, e.At) {
		if newest, seen := m.newest.get(e.Channel); !seen || e.At < newest {
			if err := m.setNext(ctx, tx, &e, "channelid = "+literal(e.Channel)); err != nil {
				return err
			}
		}
		if err := send(&e); err != nil {
			return err
		}
	}
	if !f.Has("notifyprops") {
		return nil // the column is large and unchanged
	}
	muted := m.mute(f, &e)
	if !m.muted.set(e.Channel+"\x00"+e.User, muted) {
		return nil
	}
	if !muted {
		e.Kind = importer.KindUnmute
	}
	return send(&e)
}

// threadChanged maps a row of threadmemberships.
func (m *mattermostLive) threadChanged(ctx context.Context, tx *source.Transaction, f fields, send func(*importer.Event) error) error {
	root := f.Text("postid")
	channel, err := m.roots.find(root, func() (string, error) {
		return oneText(ctx, m.Source, "posts", "channelid", "SELECT channelid FROM posts WHERE id = "+literal(root))
	})
	if err != nil {
		return err
	}
	if channel == "" {
		f.problems.Add(f.origin(), "a thread whose first message the database no longer has", root)
		return nil
	}
	f.Row = f.With("channelid", channel)
	var e importer.Event
	m.follow(f, &e)
	at := root + "\x00" + e.User
	was, known := m.followed.get(at)
	if !known || was[0] != int64(e.Kind) || e.Kind == importer.KindFollow && e.At < was[1] {
		m.followed.set(at, [2]int64{int64(e.Kind), e.At})
		if err := send(&e); err != nil {
			return err
		}
	}
	if !m.threadPointer(f, &e) || !m.viewed.set(at, e.At) {
		return nil
	}
	if err := m.setNext(ctx, tx, &e, "rootid = "+literal(root)); err != nil {
		return err
	}
	return send(&e)
}

// setNext looks for a post after a pointer, among the posts from before the transaction.
func (m *mattermostLive) setNext(ctx context.Context, tx *source.Transaction, e *importer.Event, where string) (err error) {
	commit := tx.Time.UnixMilli()
	e.Next, err = oneText(ctx, m.Source, "posts", "id", fmt.Sprintf(
		"SELECT id FROM posts WHERE %s AND deleteat = 0 AND originalid = '' AND createat > %d AND createat <= %d ORDER BY createat, id LIMIT 1",
		where, e.At, commit))
	if e.Next != "" {
		e.Until = max(e.Until, commit)
	}
	return err
}

func (m *mattermostLive) postChanged(ctx context.Context, c *source.Change, f fields, send func(*importer.Event) error) error {
	if c.Kind == source.Updated && f.at("deleteat") == 0 && f.at("editat") == 0 {
		return nil // a reaction, or a pin
	}
	if !f.Has("message") {
		id := f.Text("id")
		text, err := oneText(ctx, m.Source, "posts", "message", "SELECT message FROM posts WHERE id = "+literal(id))
		if err != nil {
			return err
		}
		f.Row = f.With("message", text)
	}
	kind, err := m.kind(ctx, f.Text("channelid"))
	if err != nil {
		return err
	}
	if err := m.lookUp(ctx, f.Text("message")); err != nil {
		return err
	}
	f.Row = f.With("channeltype", kind)
	var e importer.Event
	if !m.post(f, &e) {
		return nil
	}
	e.Explicit = true // a view of the channel follows
	if c.Kind == source.Updated {
		if e.Kind, e.At = importer.KindEdit, f.at("editat"); e.Until > 0 {
			e.Kind, e.At = importer.KindDelete, e.Until
		}
		if !m.edited.set(e.ID, e.At) {
			return nil
		}
		return send(&e)
	}
	if newest, seen := m.newest.get(e.Channel); !seen || newest < e.At {
		m.newest.set(e.Channel, e.At)
	}
	return send(&e)
}

// kind returns the type of a channel.
func (m *mattermostLive) kind(ctx context.Context, channel string) (string, error) {
	return m.kinds.find(channel, func() (string, error) {
		return oneText(ctx, m.Source, "channels", "type", "SELECT type FROM channels WHERE id = "+literal(channel))
	})
}

// lookUp finds the users that a text may name.
func (m *mattermostLive) lookUp(ctx context.Context, text string) error {
	m.users = map[string]string{}
	if !strings.Contains(text, "@") {
		return nil
	}
	var names []string
	for _, name := range mention.FindAllString(text, -1) {
		name = strings.ToLower(name[1:])
		names = append(names, name, strings.TrimRight(name, "._-"))
	}
	if len(names) == 0 {
		return nil
	}
	_, err := m.Source.Rows(ctx, "users", "SELECT id, username FROM users WHERE username IN ("+literals(slices.Compact(names))+")", func(row *source.Row) error {
		m.users[strings.ToLower(row.Text("username"))] = row.Text("id")
		return nil
	})
	return err
}
