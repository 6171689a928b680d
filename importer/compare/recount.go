package compare

import (
	"context"
	"slices"

	"github.com/tidemark/tidemark/importer"
)

// recount has the rows of a source for some pairs. It keeps the messages of their channels in memory.
type recount struct {
	channels map[string]*channelRows
	now      int64
}

// newRecount reads the rows.
func newRecount(ctx context.Context, source importer.Product, pairs []Pair, now int64) (*recount, error) {
	r := &recount{map[string]*channelRows{}, now}
	for _, p := range pairs {
		c := r.channels[p.Channel]
		if c == nil {
			c = &channelRows{users: map[string]bool{}, muted: map[string]bool{}, marked: map[string]bool{}, singles: map[string]bool{}}
			r.channels[p.Channel] = c
		}
		c.users[p.User] = true
	}
	usable := importer.Usable(now)
	err := source.Events(ctx, &importer.Problems{}, func(o importer.Origin, e *importer.Event) error {
		if c := r.channels[e.Channel]; c != nil && usable(o, e) {
			c.take(o, *e)
		}
		return nil
	})
	for _, c := range r.channels {
		c.sort()
	}
	return r, err
}

// of counts the rows of a pair by Tidemark's rules.
func (r *recount) of(p Pair) *Recount {
	n := r.channels[p.Channel].count(p, r.now)
	return &n
}

// count counts a pair by the definition: messages above the pointer and the baseline, one after the
// other.
func (c *channelRows) count(p Pair, now int64) (r Recount) {
	r.Ended = c.ended
	member := c.membership(p.User, now)
	if r.Left = member.left; r.Left {
		return r
	}
	begin := c.after(func(x *post) bool { return x.At < member.since })
	follows := true
	if p.Thread != "" {
		var from int
		if from, follows = c.followed(p, now); follows {
			begin = max(begin, from)
		}
	}
	pointer, explicit := c.pointer(p)
	r.Emptied = c.emptied(p, pointer, explicit)
	whole := c.whole(p)
	for i := 0; i < len(c.posts); i++ {
		x := &c.posts[i]
		in := p.Thread == "" && x.counts() || p.Thread != "" && x.Thread == p.Thread && !x.Broadcast && !x.Silent
		switch {
		case i < pointer:
			switch {
			case !in || explicit || !follows || x.User == p.User || x.deleted(now):
			case i >= begin:
				r.Excluded[Posted]++
			case p.Thread != "": // they began to follow it by a reply of their own, which read these
				r.Excluded[BeforeJoin]++
			}
		case i < whole:
		case p.Thread != "" && x.Thread != p.Thread:
		case x.deleted(now):
			r.Excluded[Deleted]++
		case x.Silent:
			r.Excluded[Silent]++
		case !in:
			r.Excluded[Reply]++
		case x.User == p.User:
			r.Excluded[Own]++
		case i < begin:
			r.Excluded[BeforeJoin]++
		case !follows:
			r.Excluded[Unfollowed]++
		case c.singles[p.User+"\x00"+x.ID]:
			r.Excluded[ReadSingly]++
		default:
			if r.Unread++; r.Unread == 1 {
				r.ToEnd = int64(len(c.posts) - i)
			}
			if x.Quiet {
				r.Less[Quiet]++
			}
			if x.At < member.joined {
				r.Less[History]++
			}
			if x.MentionAll || slices.Contains(x.Mentions, p.User) {
				r.Mentions++
			}
			r.Messages = append(r.Messages, Source{x.ID, x.origin})
		}
	}
	if c.muted[p.User] {
		r.Less[Muted] = r.Unread
	}
	if p.Thread == "" && c.marked[p.User] {
		r.Less[Marked] = r.Unread
	}
	return r
}

// membership is a user's membership of a channel, by the rows.
type membership struct {
	since  int64 // earlier messages do not count
	joined int64
	left   bool
}

// membership reads the rows of a user, which are in the order of their joins.
func (c *channelRows) membership(user string, now int64) (m membership) {
	until, member := int64(0), false
	for _, e := range c.members {
		if e.User != user || e.At > now {
			continue
		}
		if !member || until > 0 && until < e.At {
			m.since, until, member = e.At, e.Until, true
			continue
		}
		if until == 0 || e.Until > until {
			until = e.Until // they were a member before, so the row only has the time when they left
		}
	}
	m.left = member && until > 0 && until <= now
	m.joined = m.since
	if c.direct {
		m.since = 0
	}
	return m
}

// after returns the place of the first message for which before is false. Messages are in the order
// of time.
func (c *channelRows) after(before func(*post) bool) int {
	for i := range c.posts {
		if !before(&c.posts[i]) {
			return i
		}
	}
	return len(c.posts)
}

// pointer returns how many messages a pair's pointers cover. Without an explicit one, the user's
// newest counted message is the pointer.
func (c *channelRows) pointer(p Pair) (read int, explicit bool) {
	for _, e := range c.pointers {
		if e.User != p.User || e.Thread != p.Thread {
			continue
		}
		at := -1
		switch {
		case e.ID != "":
			at = slices.IndexFunc(c.posts, func(x post) bool { return x.ID == e.ID }) + 1
			if at > 0 && e.Before {
				read, explicit = max(read, at-1), true
				continue
			}
		case e.Seq > 0:
			at = min(int(e.Seq), len(c.posts))
		case e.At > 0:
			at = c.after(func(x *post) bool { return x.At <= e.At })
		}
		if at > 0 || at == 0 && e.ID == "" {
			read, explicit = max(read, at), true
		}
	}
	if explicit {
		return read, true
	}
	for i := range c.posts {
		x := &c.posts[i]
		if x.User == p.User && !x.Silent && (p.Thread == "" && x.counts() || p.Thread != "" && x.Thread == p.Thread) {
			read = i + 1
		}
	}
	return read, false
}

// whole returns the place in the channel up to which the user has read it with all of its threads;
// 0 for a pair that is no thread.
func (c *channelRows) whole(p Pair) (read int) {
	for _, e := range c.pointers {
		if p.Thread != "" && e.User == p.User && e.Whole {
			read = max(read, c.after(func(x *post) bool { return x.At <= e.At }))
		}
	}
	return read
}

// emptied reports whether messages whose content is gone may have changed a number. One of the user
// behind their pointer may have read the channel or the thread, and any may have made them follow
// the thread.
func (c *channelRows) emptied(p Pair, pointer int, explicit bool) bool {
	for i := range c.posts {
		x := &c.posts[i]
		if x.Emptied && (p.Thread != "" || !explicit && i >= pointer && x.User == p.User) {
			return true
		}
	}
	return false
}

// followed returns the place from which a thread counts for a user. It reports false if they do not
// follow it, or if its root is deleted, which ends the thread for everybody.
func (c *channelRows) followed(p Pair, now int64) (from int, ok bool) {
	from = len(c.posts) + 1
	for _, e := range c.follows {
		if e.User != p.User || e.Thread != p.Thread {
			continue
		}
		if e.Kind == importer.KindUnfollow {
			return 0, false
		}
		from = min(from, c.after(func(x *post) bool { return x.At <= e.At }))
	}
	author := ""
	for i := range c.posts {
		x := &c.posts[i]
		if x.ID == p.Thread {
			author = x.User
			if x.deleted(now) {
				return 0, false
			}
		}
		if x.Thread != p.Thread || x.Silent || i >= from {
			continue
		}
		if author == p.User || x.User == p.User || slices.Contains(x.Mentions, p.User) || slices.Contains(x.before, p.User) {
			from = i
		}
	}
	return from, from <= len(c.posts)
}
