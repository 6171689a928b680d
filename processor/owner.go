package processor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// directory says at which URL the owner of a partition answers, from the group's own metadata.
type directory struct {
	describe func(ctx context.Context) (kadm.DescribedGroup, error)
	group    string
	topic    string
	now      func() time.Time

	mu      sync.Mutex
	owners  map[int32]string  // of the last stable view
	keys    map[string]string // of its members, by URL
	seen    time.Time         // when that was
	asked   time.Time
	err     error
	pending chan struct{} // closed when the question that is under way is answered
}

const (
	directoryAge     = 500 * time.Millisecond // a view younger than this is not asked for again
	directoryWrong   = 50 * time.Millisecond  // the same for one that is known to be wrong
	directoryStale   = 5 * time.Second        // up to this age it is used while the next one is asked for
	directoryWait    = 500 * time.Millisecond // so long is an older one held back for the next one
	directoryTimeout = 5 * time.Second
)

func newDirectory(admin *kadm.Client, group, topic string, now func() time.Time) *directory {
	return &directory{
		group: group, topic: topic, now: now,
		describe: func(ctx context.Context) (kadm.DescribedGroup, error) {
			groups, err := admin.DescribeGroups(ctx, group)
			if err != nil {
				return kadm.DescribedGroup{}, err
			}
			g := groups[group]
			return g, g.Err
		},
	}
}

// owner is the URL of a partition's owner as of the last stable view of the group. During a rebalance, and while the
// brokers do not answer, that is the one before it: an owner that has moved knows so itself. Any number of callers share
// one question to the brokers, and none waits for its answer who can do with the view that there is: only those whom it
// tells nothing, or not, which is wrong, and for a moment those who find it stale.
func (d *directory) owner(ctx context.Context, partition int32, not string) (string, error) {
	d.mu.Lock()
	known, ok := d.owners[partition]
	ok = ok && known != not
	age := directoryAge
	if !ok {
		age = directoryWrong
	}
	now := d.now()
	if now.Sub(d.asked) >= age && d.pending == nil {
		d.pending = make(chan struct{})
		go d.refresh(d.pending)
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
	if url, ok := d.owners[partition]; ok {
		return url, nil
	}
	if d.err != nil {
		return "", fmt.Errorf("who owns partition %d of group %s is not known: %w", partition, d.group, d.err)
	}
	return "", fmt.Errorf("nobody in group %s owns partition %d now", d.group, partition)
}

func (d *directory) refresh(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), directoryTimeout)
	defer cancel()
	g, err := d.describe(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	defer close(done)
	d.pending, d.asked, d.err = nil, d.now(), err
	if err == nil && g.State == "Stable" {
		d.owners, d.keys = ownersOf(g, d.topic)
		d.seen = d.asked
	}
}

// relayKey is what the node at a URL has told the group, as of the last stable view; empty if it has told nothing.
func (d *directory) relayKey(url string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.keys[url]
}

// ownersOf reads the owners' URLs, by partition of topic, and the members' relay keys, by URL, from what they told the group.
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
