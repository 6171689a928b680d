package product

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// Divisible reports true.
func (*TableLive) Divisible() bool { return true }

// Transaction maps a transaction.
func (t *TableLive) Transaction(ctx context.Context, tx *source.Transaction, p *importer.Problems, emit Emit) error {
	commit := tx.Time.UnixMilli()
	for i := range tx.Changes {
		change := &tx.Changes[i]
		c, followed := t.changing[change.Row.Table]
		if !followed {
			continue
		}
		x := &tableChange{TableLive: t, ctx: ctx, kind: change.Kind, f: fields{change.Row, p}, key: map[string]string{}, commit: commit, emit: emit}
		for column, of := range c.By {
			if text, ok := change.Row.Get(of); ok {
				x.key[column] = text
			}
		}
		if change.Kind != source.Removed {
			if len(x.key) < len(c.By) {
				continue // it belongs to nothing, such as a message without a channel
			}
			x.with = t.asOf(change.Row, c.By)
		}
		if len(c.Edits) > 0 {
			if err := x.edited(); err != nil {
				return err
			}
		}
		for _, table := range TableNames {
			if !slices.Contains(c.Gives, table) {
				continue
			}
			if err := x.query(table); err != nil {
				return err
			}
		}
	}
	return nil
}

// query maps the rows that a query now has for the changed row.
func (x *tableChange) query(table string) error {
	switch table {
	case "channels":
		return x.channel()
	case "members":
		return x.member()
	case "pointers":
		return x.pointers()
	case "follows":
		return x.follows()
	case "mutes":
		return x.mute()
	}
	return x.message()
}

func (x *tableChange) channel() error {
	id := x.key["channel_id"]
	if x.kind == source.Removed {
		return x.send(&importer.Event{Kind: importer.KindChannelDeleted, Channel: id, At: x.commit})
	}
	ended := importer.Event{}
	all, err := x.changed("channels", func(f fields, e *importer.Event) bool {
		tableChannelDeleted(f, &ended)
		return tableChannel(f, e)
	})
	for i := range all {
		x.direct.set(id, all[i].Direct)
	}
	if err == nil && ended.At > 0 {
		err = x.send(&ended)
	}
	return err
}

// isDirect reports whether a channel is a direct one.
func (x *tableChange) isDirect(channel string) (bool, error) {
	if known, ok := x.direct.get(channel); ok || x.Mapping["channels"] == "" {
		return known, nil
	}
	all, err := x.rows("channels", map[string]string{"channel_id": channel}, tableChannel)
	for i := range all {
		x.direct.set(channel, all[i].Direct)
	}
	return len(all) > 0 && all[0].Direct, err
}

// member maps a membership.
func (x *tableChange) member() error {
	if !x.whole("channel_id", "user_id") {
		x.gone("the member")
		return nil
	}
	channel, user := x.key["channel_id"], x.key["user_id"]
	since, err := x.since()
	if err != nil || !x.members.set(channel+"\x00"+user, since) {
		return err
	}
	e := &importer.Event{Kind: importer.KindLeave, Channel: channel, User: user, At: x.commit}
	if since >= 0 {
		e.Kind = importer.KindMember
		if e.Direct, err = x.isDirect(channel); err != nil {
			return err
		}
	}
	return x.send(e)
}

// since returns the time since which the user is a member, -1 if they are not one. If a user has
// several rows, one for each time that they were a member, all of them decide.
func (x *tableChange) since() (int64, error) {
	all, err := x.rows("members", x.key, tableMember)
	if err == nil && len(all) < 2 && x.kind != source.Removed {
		all, err = x.changed("members", tableMember)
	}
	since := int64(-1)
	for i := range all {
		if all[i].Until == 0 || all[i].Until > x.commit {
			since = max(since, all[i].At)
		}
	}
	return since, err
}

func (x *tableChange) mute() error {
	if !x.whole("channel_id", "user_id") {
		x.gone("the mute")
		return nil
	}
	channel, user := x.key["channel_id"], x.key["user_id"]
	var all []importer.Event
	var err error
	if x.kind != source.Removed {
		all, err = x.changed("mutes", tableMute)
	}
	if err != nil || !x.muted.set(channel+"\x00"+user, len(all) > 0) {
		return err
	}
	e := &importer.Event{Kind: importer.KindUnmute, Channel: channel, User: user, At: x.commit}
	if len(all) > 0 {
		e.Kind = importer.KindMute
	}
	return x.send(e)
}

// follows maps the threads that a user follows. The removal of a row ends the follow.
func (x *tableChange) follows() error {
	var all []importer.Event
	var err error
	if x.kind != source.Removed {
		all, err = x.changed("follows", tableFollow)
	}
	if err != nil {
		return err
	}
	for i := range all {
		e, at := &all[i], all[i].At
		if e.Kind == importer.KindUnfollow {
			at = -1
		}
		name := e.Channel + "\x00" + e.Thread + "\x00" + e.User
		if was, known := x.followed.get(name); known && was >= 0 && at >= was {
			continue // they follow it, and since then
		}
		if x.followed.set(name, at) {
			if err := x.send(e); err != nil {
				return err
			}
		}
	}
	if len(all) > 0 || !x.whole("thread_id", "user_id") {
		return nil
	}
	thread, user, channel := x.key["thread_id"], x.key["user_id"], x.key["channel_id"]
	if channel == "" {
		roots, err := x.rows("messages", map[string]string{"message_id": thread}, tableMessage)
		if err != nil {
			return err
		}
		if len(roots) == 0 {
			x.gone("the follow")
			return nil
		}
		channel = roots[0].Channel
	}
	if !x.followed.set(channel+"\x00"+thread+"\x00"+user, -1) {
		return nil
	}
	return x.send(&importer.Event{Kind: importer.KindUnfollow, Channel: channel, Thread: thread, User: user, At: x.commit})
}

// message maps a message: a new one, or a changed one.
func (x *tableChange) message() error {
	if x.kind == source.Removed {
		if !x.whole("channel_id", "message_id") {
			x.gone("the message")
			return nil
		}
		return x.send(&importer.Event{Kind: importer.KindDelete, Channel: x.key["channel_id"], ID: x.key["message_id"], At: x.commit})
	}
	all, err := x.changed("messages", tableMessage)
	if err != nil {
		return err
	}
	for i := range all {
		e := &all[i]
		if !x.written.set(e.Channel+"\x00"+e.ID, x.content(e)) {
			continue
		}
		if x.kind == source.Inserted {
			if e.Explicit, err = x.pointed(e); err != nil {
				return err
			}
			x.newest.set(e.Channel+"\x00"+e.Thread, e.ID)
			x.newest.set(e.Channel+"\x00", e.ID)
		} else if e.Kind, e.At = importer.KindEdit, x.commit; e.Until > 0 {
			e.Kind, e.At = importer.KindDelete, max(e.Until, 1)
		}
		if err := x.send(e); err != nil {
			return err
		}
	}
	return nil
}

// edited maps a message that a row of another table belongs to, such as a mention: as it is now.
func (x *tableChange) edited() error {
	if !x.whole("message_id") {
		x.gone("what belonged to a message")
		return nil
	}
	all, err := x.rows("messages", map[string]string{"message_id": x.key["message_id"]}, tableMessage)
	for i := range all {
		e := &all[i]
		if e.Until > 0 || !x.written.set(e.Channel+"\x00"+e.ID, x.content(e)) {
			continue
		}
		e.Kind, e.At = importer.KindEdit, x.commit
		if err := x.send(e); err != nil {
			return err
		}
	}
	return err
}

// content is a hash of what an edit can change.
func (x *tableChange) content(e *importer.Event) uint64 {
	return maphash.String(x.seed, fmt.Sprintf("%q %q %v %v", e.Text, e.Mentions, e.MentionAll, e.Until))
}
