package owners

import (
	"context"
	"time"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/fault"
)

// Node is the part of this node that a Finder uses.
type Node interface {
	Live(p int32) (*projections.Partition, error)
	Owner(ctx context.Context, p int32) (url string, err error)
	MayHold(p int32, user uint64) bool
}

// Finder finds owners.
type Finder struct {
	Node Node
	Self string // the URL at which other nodes reach this one
}

// Shares divides all partitions among the nodes that answer for them.
type Shares struct {
	Local  []int32 // live here
	Out    []int32 // live nowhere, and with nothing of the user
	Remote []Remote
}

// Remote has the partitions of another node.
type Remote struct {
	URL        string
	Partitions []int32
}

// ownerWithin limits the time to find all owners.
const ownerWithin = 2 * time.Second

// Shares finds the owner of each of n partitions. It fails if it cannot find the owner of a
// partition that may not be left out.
func (f *Finder) Shares(ctx context.Context, n int32, a *About) (Shares, error) {
	ctx, cancel := context.WithTimeout(ctx, ownerWithin)
	defer cancel()
	var s Shares
	byURL := map[string]int{}
	for p := range n {
		_, notLive := f.Node.Live(p)
		if notLive == nil {
			s.Local = append(s.Local, p)
			continue
		}
		if f.without(p, a) {
			s.Out = append(s.Out, p)
			continue
		}
		url, err := f.owner(ctx, p, notLive)
		if err != nil {
			return Shares{}, err
		}
		i, known := byURL[url]
		if !known {
			i = len(s.Remote)
			byURL[url] = i
			s.Remote = append(s.Remote, Remote{URL: url})
		}
		s.Remote[i].Partitions = append(s.Remote[i].Partitions, p)
	}
	return s, nil
}

// Owner returns the URL of another node that owns partition p. notLive is why it is not live here.
func (f *Finder) Owner(ctx context.Context, p int32, notLive error) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, ownerWithin)
	defer cancel()
	return f.owner(ctx, p, notLive)
}

func (f *Finder) owner(ctx context.Context, p int32, notLive error) (string, error) {
	url, err := f.Node.Owner(ctx, p)
	switch {
	case err != nil:
		return "", fault.UnavailableFor(err, "partition %d has no known owner right now: %s", p, fault.Public(err))
	case url == "":
		return "", fault.Unavailable("partition %d: its owner advertises no URL: set --advertise there", p)
	case url == f.Self:
		return "", fault.Unavailable("partition %d is not live here yet: %v", p, notLive)
	}
	return url, nil
}
