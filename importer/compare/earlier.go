package compare

import (
	"context"
	"slices"

	"github.com/tidemark/tidemark/importer"
)

// unreadBy is a message that a user has not read.
type unreadBy struct{ user, channel, id string }

// addEarlier adds to the recounts of numbers that are too low how many of their messages came while
// the user had muted the channel. It asks the source only about these users and channels.
func (c *comparison) addEarlier(ctx context.Context, source importer.Counter, open map[Pair]*Evidence) error {
	product, ok := source.(importer.Muter)
	if !ok {
		return nil
	}
	in, unread := map[string][]string{}, map[unreadBy][]*Recount{}
	for p, e := range open {
		if b, _, _ := c.Policy.Judge(e); b != TheirsWrong || e.Theirs.Unread >= e.Rows.Unread {
			continue
		}
		if !slices.Contains(in[p.User], p.Channel) {
			in[p.User] = append(in[p.User], p.Channel)
		}
		for _, m := range e.Rows.Messages {
			at := unreadBy{p.User, p.Channel, m.ID}
			unread[at] = append(unread[at], e.Rows)
		}
	}
	if len(in) == 0 {
		return nil
	}
	var problems importer.Problems
	unknown, err := product.WhileMuted(ctx, in, &problems, func(user, channel, id string) error {
		for _, r := range unread[unreadBy{user, channel, id}] {
			r.Less[Earlier]++
		}
		return nil
	})
	c.result.Unknown = unknown
	c.result.Problems = append(c.result.Problems, problems.List()...)
	return err
}
