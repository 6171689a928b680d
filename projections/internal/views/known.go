package views

import (
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// UserHash is what MayKnow finds a user by.
func UserHash(userID string) uint64 { return state.IDHash([]byte(userID)) }

// MayKnow reports whether the partition may hold anything of a user that UserRows, Inbox, Threads
// or a Sweep would list. It takes no lock, and misses nobody: a user is known before the position
// of the record that made them so can be seen. It is wrong of one user in some billions.
func (p *Queries) MayKnow(user uint64) bool { return p.rules.UserTable.May(user) }

// Known are the users of whom a partition held something when it was folded last.
type Known struct{ users arena.Hashes }

// Known returns those of a partition that is not folded any more. It needs the place of the
// goroutine that folded it.
func (p *Queries) Known() *Known { return &Known{p.rules.UserTable.Hashes()} }

// May is MayKnow.
func (k *Known) May(user uint64) bool { return k.users.May(user) }
