package compare

import (
	"slices"

	"github.com/tidemark/tidemark/importer"
)

// channelRows are the rows of a channel that matter for some pairs.
type channelRows struct {
	users    map[string]bool
	direct   bool
	ended    bool
	posts    []post
	members  []importer.Event // of users
	pointers []importer.Event
	follows  []importer.Event
	muted    map[string]bool // users
	marked   map[string]bool // users who marked something as unread
	singles  map[string]bool // messages read singly, by user and id
}

// post is a message with its row.
type post struct {
	*importer.Event
	origin importer.Origin
	before []string // users whom other versions of it mentioned
}

// counts reports whether the message counts in its channel, unless it is deleted.
func (p *post) counts() bool { return !p.Silent && (p.Thread == "" || p.Broadcast) }

func (p *post) deleted(now int64) bool { return p.Until > 0 && p.Until <= now }

// take keeps a row.
func (c *channelRows) take(o importer.Origin, e importer.Event) {
	e.Text = ""
	switch e.Kind {
	case importer.KindChannel:
		c.direct = e.Direct
		return
	case importer.KindChannelDeleted:
		c.ended = true
		return
	case importer.KindPost:
		e.Mentions = slices.Clone(e.Mentions)
		c.posts = append(c.posts, post{Event: &e, origin: o})
		return
	}
	if !c.users[e.User] {
		return
	}
	switch e.Kind {
	case importer.KindMember:
		c.members = append(c.members, e)
	case importer.KindPointer:
		c.pointers = append(c.pointers, e)
		if e.Quiet && e.Thread == "" {
			c.marked[e.User] = true
		}
	case importer.KindSingle:
		c.singles[e.User+"\x00"+e.ID] = true
	case importer.KindFollow, importer.KindUnfollow:
		c.follows = append(c.follows, e)
	case importer.KindMute:
		c.muted[e.User] = true
	}
}

// sort puts messages into the order of an import, each once, and members into that of their joins.
func (c *channelRows) sort() {
	slices.SortFunc(c.posts, func(a, b post) int { return a.Compare(b.Event) })
	c.posts = slices.CompactFunc(c.posts, func(a, b post) bool { return a.Compare(b.Event) == 0 })
	slices.SortFunc(c.members, func(a, b importer.Event) int { return a.Compare(&b) })
}
