package compare

import (
	"cmp"
	"container/heap"
	"context"

	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/importer"
)

// theirs are the product's numbers, by user.
type theirs map[string]map[place]Numbers

// place is a channel, or a thread of it.
type place struct{ channel, thread string }

// read reads the numbers of the given users; without users, of all users or of a sample.
func (c *Config) read(ctx context.Context, users []string, sample int) (theirs, error) {
	source, release, err := c.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	all, drawn, done := theirs{}, drawing{}, int64(0)
	places := map[place]place{} // each text once
	err = source.Counts(ctx, users, c.problems, func(n importer.Count) error {
		if done++; done%1000 == 0 {
			c.Progress(importer.Progress{Phase: "reading their numbers", Done: done})
		}
		of := all[n.User]
		if of == nil {
			if sample > 0 && len(users) == 0 && !drawn.takes(n.User, sample, all) {
				return nil
			}
			of = map[place]Numbers{}
			all[n.User] = of
		}
		at := place{n.Channel, n.Thread}
		if known, ok := places[at]; ok {
			at = known
		} else {
			places[at] = at
		}
		of[at] = Numbers{n.Unread, n.Mentions, n.OnlyMentions, n.Capped, n.Why}
		return nil
	})
	return all, err
}

// drawing is a sample of users: those with the smallest hashes, so that each comparison draws the
// same ones. It is a heap with the largest hash on top.
type drawing []drawnUser

type drawnUser struct {
	hash uint64
	user string
}

// takes reports whether a user is in the sample so far. It removes the numbers of a user who drops
// out.
func (d *drawing) takes(user string, size int, all theirs) bool {
	u := drawnUser{xxh3.HashString(user), user}
	if d.Len() == size {
		if !(*d)[0].before(u) {
			delete(all, heap.Pop(d).(drawnUser).user)
		} else {
			return false
		}
	}
	heap.Push(d, u)
	return true
}

func (u drawnUser) before(o drawnUser) bool {
	return cmp.Or(cmp.Compare(u.hash, o.hash), cmp.Compare(u.user, o.user)) < 0
}

func (d drawing) Len() int           { return len(d) }
func (d drawing) Less(i, j int) bool { return d[j].before(d[i]) }
func (d drawing) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *drawing) Push(x any)        { *d = append(*d, x.(drawnUser)) }
func (d *drawing) Pop() any {
	old := *d
	x := old[len(old)-1]
	*d = old[:len(old)-1]
	return x
}
