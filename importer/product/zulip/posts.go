package zulip

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/product/internal/change"
	"github.com/tidemark/tidemark/importer/product/internal/zulip"
	"github.com/tidemark/tidemark/importer/source"
)

var seed = maphash.MakeSeed()

// messages maps changes of messages. It reads them as they are now, because their mentions are in
// the flags of their receivers.
func (l *Live) messages(ctx context.Context, all []*change.Change) error {
	if len(all) == 0 {
		return nil
	}
	current, err := l.load(ctx, all[0].Problems, all)
	if err != nil {
		return err
	}
	for _, c := range all {
		e, found := current[c.Text("id")]
		if !found {
			c.Problems.Add(c.Origin(), "a message that the database no longer has, nor its archive", c.Text("id"))
			continue
		}
		if err := l.message(c, e); err != nil {
			return err
		}
	}
	return nil
}

// load returns the messages of changes as the database has them now.
func (l *Live) load(ctx context.Context, p *importer.Problems, all []*change.Change) (map[string]importer.Event, error) {
	ids := map[string]bool{}
	for _, c := range all {
		ids[c.Text("id")] = true
	}
	current := map[string]importer.Event{}
	err := l.rows(ctx, "zerver_message", zulip.Posts(slices.Sorted(maps.Keys(ids))), func(row *source.Row) error {
		e, _ := product.ZulipPost(row, p)
		current[e.ID] = e
		return nil
	})
	return current, err
}

// message maps one change of a message, which is now e.
func (l *Live) message(c *change.Change, e importer.Event) error {
	was, known := l.posts[e.ID]
	is := post{channel: e.Channel, sender: e.User, content: content(&e)}
	switch {
	case c.Kind == source.Removed:
		return c.Send(&importer.Event{Kind: importer.KindDelete, Channel: e.Channel, ID: e.ID, At: c.Commit})
	case known && was.channel != e.Channel:
		c.Problems.Add(c.Origin(), "a message was moved to another channel: it stays in the first one", e.ID)
		return nil
	case known && was.content == is.content:
		return nil // another column has changed
	}
	product.Keep(l.posts, e.ID, is)
	if c.Kind == source.Updated {
		if e.Until > 0 {
			return nil // its deletion follows
		}
		e.Kind, e.At = importer.KindEdit, c.Commit
		return c.Send(&e)
	}
	if err := l.pair(c, e.Channel); err != nil {
		return err
	}
	e.Explicit, e.Until = true, 0 // flags say what its author has read, and the deletion follows
	return c.Send(&e)
}

// pair makes the users of a conversation its members, with its first message that the bridge sees.
func (l *Live) pair(c *change.Change, channel string) error {
	low, high, ok := zulip.Pair(channel)
	if !ok || l.paired[channel] {
		return nil
	}
	product.Keep(l.paired, channel, true)
	for _, user := range slices.Compact([]string{low, high}) {
		if err := c.Send(&importer.Event{Kind: importer.KindMember, Channel: channel, User: user, At: c.Commit, Direct: true}); err != nil {
			return err
		}
	}
	return nil
}

// content is a hash of what an edit can change.
func content(e *importer.Event) uint64 {
	return maphash.String(seed, fmt.Sprintf("%q %q %v", e.Text, e.Mentions, e.MentionAll)) | 1
}
