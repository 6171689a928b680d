package zulip

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/product/internal/change"
	"github.com/tidemark/tidemark/importer/product/internal/zulip"
	"github.com/tidemark/tidemark/importer/source"
)

// flagged takes a row of a user's message. A new one is unread, as Tidemark takes it, unless its
// flags say that it was read at once.
func (l *Live) flagged(c *change.Change, before *source.Row) {
	unread := zulip.Unread(c.Text("flags"))
	switch {
	case c.Kind == source.Removed, c.Kind == source.Inserted && unread:
		return
	case c.Kind == source.Updated && before != nil && before.Has("flags") && zulip.Unread(before.Text("flags")) == unread:
		return // another flag
	}
	at := [2]string{c.Text("user_profile_id"), c.Text("message_id")}
	if _, changed := l.reads[at]; !changed {
		l.order = append(l.order, at)
	}
	l.reads[at] = unread
}

// reading is what a transaction has changed for a user in a channel.
type reading struct {
	read   []string // messages of others
	unread bool     // something has become unread
}

// read maps the changed flags. In Zulip each message is read on its own. Tidemark gets a pointer
// right before the oldest unread message, and single reads after it.
func (l *Live) read(c *change.Change) error {
	if len(l.order) == 0 {
		return nil
	}
	pairs, order, err := l.pairs(c)
	if err != nil || len(order) == 0 {
		return err
	}
	users := map[string]bool{}
	for _, at := range order {
		users[at[1]] = true
	}
	lowest := map[[2]string]string{}
	err = l.rows(c.Ctx, "zerver_usermessage", zulip.Lowest(slices.Sorted(maps.Keys(users))), func(row *source.Row) error {
		lowest[[2]string{row.Text("channel"), row.Text("user_id")}] = row.Text("id")
		return nil
	})
	if err != nil {
		return err
	}
	for _, at := range order {
		if err := l.place(c, at, pairs[at], lowest[at]); err != nil {
			return err
		}
	}
	return nil
}

// pairs returns the changed flags by channel and user.
func (l *Live) pairs(c *change.Change) (pairs map[[2]string]*reading, order [][2]string, err error) {
	if err := l.find(c.Ctx); err != nil {
		return nil, nil, err
	}
	pairs = map[[2]string]*reading{}
	for _, at := range l.order {
		user, id := at[0], at[1]
		m, found := l.posts[id]
		if !found {
			continue // it was deleted meanwhile
		}
		place := [2]string{m.channel, user}
		r := pairs[place]
		if r == nil {
			r = &reading{}
			pairs[place] = r
			order = append(order, place)
		}
		switch {
		case l.reads[at]:
			r.unread = true
		case m.sender != user:
			r.read = append(r.read, id)
		}
	}
	return pairs, order, nil
}

// find remembers the messages of the changed flags.
func (l *Live) find(ctx context.Context) error {
	unknown := map[string]bool{}
	for _, at := range l.order {
		if _, known := l.posts[at[1]]; !known {
			unknown[at[1]] = true
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	found := map[string]post{}
	err := l.rows(ctx, "zerver_message", zulip.Places(slices.Sorted(maps.Keys(unknown))), func(row *source.Row) error {
		found[row.Text("id")] = post{channel: row.Text("channel"), sender: row.Text("sender_id")}
		return nil
	})
	if len(l.posts)+len(found) > product.Remembered {
		known := l.posts
		l.posts = map[string]post{}
		for _, at := range l.order {
			if m, has := known[at[1]]; has {
				l.posts[at[1]] = m
			}
		}
	}
	maps.Copy(l.posts, found)
	return err
}

// place writes what a user has read in a channel now; lowest is their oldest unread message. If
// something has become unread, the pointer goes back, which drops single reads, so all of them
// follow.
func (l *Live) place(c *change.Change, at [2]string, r *reading, lowest string) error {
	channel, user := at[0], at[1]
	if len(r.read) == 0 && !r.unread {
		return nil // their own messages
	}
	e := &importer.Event{Kind: importer.KindPointer, Channel: channel, User: user, Until: c.Commit}
	err := l.rows(c.Ctx, "zerver_message", zulip.Newest(channel, lowest), func(row *source.Row) error {
		e.ID = row.Text("id")
		return nil
	})
	if err != nil {
		return err
	}
	if r.unread && lowest != "" {
		if e.Next = lowest; e.ID == "" {
			e.At = 1 // before everything
		}
	}
	if e.ID != "" && l.pointed[at] != e.ID || e.Next != "" {
		product.Keep(l.pointed, at, e.ID)
		if err := c.Send(e); err != nil {
			return err
		}
	}
	if lowest == "" {
		return nil
	}
	single := &importer.Event{Kind: importer.KindSingle, Channel: channel, User: user}
	if e.Next == "" {
		for _, id := range r.read {
			if numberOf(id) > numberOf(lowest) {
				single.More = append(single.More, id)
			}
		}
	} else if err := l.rows(c.Ctx, "zerver_usermessage", zulip.Read(user, channel, lowest), func(row *source.Row) error {
		single.More = append(single.More, row.Text("id"))
		return nil
	}); err != nil {
		return err
	}
	if len(single.More) == 0 {
		return nil
	}
	single.ID, single.More = single.More[0], single.More[1:]
	return c.Send(single)
}

// numberOf returns the number that an id is.
func numberOf(id string) int64 {
	n, _ := strconv.ParseInt(id, 10, 64) // of a column of numbers
	return n
}
