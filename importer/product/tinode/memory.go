package tinode

import "github.com/tidemark/tidemark/importer/source"

// Live maps the changes. Tinode writes a row of a subscription for many reasons; only its new facts
// become events, as far as the bridge remembers.
type Live struct {
	now source.Tables

	subscriptions map[[2]string]subscription // by topic and user
	ended         map[string]bool            // deleted topics
}

// subscription is what a user's subscription to a topic has said so far.
type subscription struct {
	member, muted bool
	read          string
}

// New returns a mapper that looks up what rows refer to in the current database.
func New(now source.Tables) *Live {
	return &Live{now: now, subscriptions: map[[2]string]subscription{}, ended: map[string]bool{}}
}

// Divisible reports true.
func (*Live) Divisible() bool { return true }
