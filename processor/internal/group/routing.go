package group

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/internal/guard"
)

// Directory finds the URL of a partition's owner in the group's metadata.
type Directory struct {
	Describe func(ctx context.Context) (kadm.DescribedGroup, error)
	group    string
	topic    string
	now      func() time.Time

	mu      sync.Mutex
	Owners  map[int32]string  // by partition, of the last stable view
	keys    map[string]string // relay keys by URL, of the same view
	seen    time.Time         // when that view was read
	asked   time.Time
	err     error
	pending chan struct{} // closed when the request in progress is answered
}

const (
	directoryAge     = 500 * time.Millisecond // a view younger than this is used as it is
	directoryWrong   = 50 * time.Millisecond  // the same for a view that is known to be wrong
	directoryStale   = 5 * time.Second        // up to this age a view is used while the next one is requested
	directoryWait    = 500 * time.Millisecond // how long a caller waits for a newer view before it gets an older one
	directoryTimeout = 5 * time.Second
)

// NewDirectory creates a directory of the owners of topic's partitions in group.
func NewDirectory(admin *kadm.Client, group, topic string, now func() time.Time) *Directory {
	return &Directory{
		group: group, topic: topic, now: now,
		Describe: func(ctx context.Context) (kadm.DescribedGroup, error) {
			groups, err := admin.DescribeGroups(ctx, group)
			if err != nil {
				return kadm.DescribedGroup{}, err
			}
			g := groups[group]
			return g, g.Err
		},
	}
}

// Owner returns the URL of a partition's owner in the last stable view of the group. During a
// rebalance, and while the brokers do not answer, that view is outdated; an owner that has lost the
// partition then answers that it has.
//
// Callers share one metadata request. A caller is blocked on it only if the cached view has no
// owner for the partition, or names the URL in not, or (for directoryWait at most) is older than
// directoryStale.
func (d *Directory) Owner(ctx context.Context, partition int32, not string) (string, error) {
	d.mu.Lock()
	known, ok := d.Owners[partition]
	ok = ok && known != not
	age := directoryAge
	if !ok {
		age = directoryWrong
	}
	now := d.now()
	if now.Sub(d.asked) >= age && d.pending == nil {
		d.pending = make(chan struct{})
		pending := d.pending
		guard.Go("asking for the owners", func(e *guard.Error) { d.answered(pending, kadm.DescribedGroup{}, e) }, func() { d.refresh(pending) })
	}
	pending, stale := d.pending, now.Sub(d.seen) >= directoryStale
	d.mu.Unlock()
	switch {
	case ok && !stale:
		return known, nil
	case ok:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, directoryWait)
		defer cancel()
	}
	if pending != nil {
		select {
		case <-pending:
		case <-ctx.Done():
			if ok {
				return known, nil
			}
			return "", context.Cause(ctx)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if url, ok := d.Owners[partition]; ok {
		return url, nil
	}
	if d.err != nil {
		return "", fmt.Errorf("the owner of partition %d of group %s is not known: %w", partition, d.group, d.err)
	}
	return "", fmt.Errorf("no member of group %s owns partition %d now", d.group, partition)
}

func (d *Directory) refresh(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), directoryTimeout)
	defer cancel()
	g, err := d.Describe(ctx)
	d.answered(done, g, err)
}

func (d *Directory) answered(done chan struct{}, g kadm.DescribedGroup, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending != done {
		return // it has been read before a panic
	}
	defer close(done)
	d.pending, d.asked, d.err = nil, d.now(), err
	if err == nil && g.State == "Stable" {
		d.Owners, d.keys = ownersOf(g, d.topic)
		d.seen = d.asked
	}
}

// RelayKey returns the relay key that the node at a URL has published to the group, as of the last
// stable view, or "".
func (d *Directory) RelayKey(url string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.keys[url]
}

// ownersOf reads the owners' URLs (by partition of topic) and the members' relay keys (by URL) from
// the members' data.
func ownersOf(g kadm.DescribedGroup, topic string) (owners map[int32]string, keys map[string]string) {
	owners, keys = map[int32]string{}, map[string]string{}
	for _, m := range g.Members {
		join, ok := m.Join.AsConsumer()
		assigned, ok2 := m.Assigned.AsConsumer()
		if !ok || !ok2 {
			continue
		}
		data := decodeMemberData(join.UserData)
		url := data.Advertise
		if url != "" {
			keys[url] = data.RelayKey
		}
		for _, t := range assigned.Topics {
			if t.Topic != topic {
				continue
			}
			for _, p := range t.Partitions {
				owners[p] = url
			}
		}
	}
	return owners, keys
}
