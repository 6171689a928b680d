package zulip

import (
	"context"

	"github.com/tidemark/tidemark/importer/source"
)

// Live maps the changes. It looks up what a row refers to in the current database.
type Live struct {
	now source.Tables

	kinds   map[string]string    // type of a recipient
	members map[[2]string]member // what was written, by channel and user
	paired  map[string]bool      // conversations of two whose users are members
	posts   map[string]post      // messages
	pointed map[[2]string]string // the pointer that was written, by channel and user
	ended   map[string]bool      // deactivated streams
	reads   map[[2]string]bool   // flags that the current transaction has changed, by user and message: unread now
	order   [][2]string          // keys of reads
}

// member is what was written of a user in a channel.
type member struct{ active, muted bool }

// post is what was written of a message.
type post struct {
	channel, sender string
	content         uint64 // a hash of what an edit can change; 0: not written by this bridge
}

// New returns a mapper.
func New(now source.Tables) *Live {
	return &Live{
		now: now, kinds: map[string]string{}, members: map[[2]string]member{}, paired: map[string]bool{}, posts: map[string]post{},
		pointed: map[[2]string]string{}, ended: map[string]bool{},
	}
}

// Divisible reports true.
func (*Live) Divisible() bool { return true }

// rows runs a query.
func (l *Live) rows(ctx context.Context, table, query string, fn func(*source.Row) error) error {
	_, err := l.now.Rows(ctx, table, query, fn)
	return err
}
