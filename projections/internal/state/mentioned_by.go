package state

import (
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// MentionedBy returns the users whom a trimmed message mentions by id, as Entry.Users does. The log
// no longer has them, so MentionedBy looks at all users of the message's scope.
func (p *State) MentionedBy(ci uint32, c *Channel, e *history.Entry) (users []byte) {
	note := func(r *Row) {
		if x := p.ExtraOfPair(r); x != nil && x.Mentions.Contains(e.Seq) {
			users = wire.AppendBytes(users, p.UserID(r.User))
		}
	}
	if !e.Counted() {
		ti := p.ThreadOfEntry(ci, c, e)
		if ti == 0 {
			return nil
		}
		for fi := p.Threads.At(ti).Follows; fi != 0; fi = p.Follows.At(fi).Next {
			note(p.Rows.At(p.Follows.At(fi).Row))
		}
		return users
	}
	for _, r := range p.RowsOf(c) {
		if r.Flags&RowThread == 0 {
			note(r)
		}
	}
	return users
}
