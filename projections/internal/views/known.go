package views

import (
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// UserHash returns the hash of a user id that MayKnow takes.
func UserHash(userID string) uint64 { return state.IDHash([]byte(userID)) }

// MayKnow reports whether the partition may have anything of a user that UserRows, Inbox, Threads
// or a Sweep would list. It takes no lock. It never returns false for a user with data: a user is
// in the table before the position of their first record is visible. It returns true by mistake for
// about one user in some billions, and for everybody until the partition is Listed.
func (p *Queries) MayKnow(user uint64) bool {
	removed := p.rules.Cold.Removed() // a user who has no list any more may be in memory again
	return p.rules.Cold.Listing.Load() || p.rules.UserTable.May(user) || p.rules.Cold.MayKnow(user) || p.rules.Cold.Removed() != removed
}

// Known lists the users of whom a partition held anything when it last folded.
type Known struct {
	users, cold arena.Hashes
	all         bool // it may have held something of anybody
}

// Known returns the users of a partition that is no longer folded. Only the goroutine that folded
// it may call Known.
func (p *Queries) Known() *Known {
	return &Known{p.rules.UserTable.Hashes(), p.rules.Cold.Users(), p.rules.Cold.Listing.Load()}
}

// May is Queries.MayKnow.
func (k *Known) May(user uint64) bool {
	return k.all || k.users.May(user) || k.cold.May(user)
}
