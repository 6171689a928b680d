package erase

import (
	"context"
	"fmt"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
)

// Scan searches for traces after an erasure: channels that hold more about the user than the
// erasure, keys of Redis, and snapshots from before. first is the certificate of the erasure, which
// has the erasure's place in the topics. Scan returns its findings as sentences, or if there are
// none, a certificate to sign.
func Scan(ctx context.Context, c Config, first *Certificate) (*Certificate, []string, error) {
	if first.Kind != KindErasure || first.User != c.User || first.Result == nil {
		return nil, nil, fmt.Errorf("the certificate is not of the erasure of %q", c.User)
	}
	c.DryRun = true
	r := newRun(c)
	if err := r.find(ctx); err != nil {
		return nil, nil, err
	}
	var found []string
	for _, ch := range r.res.Channels {
		if !ch.Done {
			found = append(found, fmt.Sprintf("channel %q holds data about the user", ch.ChannelID))
		}
	}
	if r.Redis != nil {
		keys := append(r.keys(), key{cache.InboxKey(c.User), ""}, key{cache.InboxThreadsKey(c.User), ""}, key{cache.PresenceKey(c.User), ""})
		left, err := r.existing(ctx, keys)
		if err != nil {
			return nil, nil, err
		}
		for _, k := range left {
			found = append(found, fmt.Sprintf("Redis has %q %q", k.name, k.field))
		}
	}
	clear(r.erased)
	clear(r.early)
	for _, ch := range first.Result.Channels {
		id, err := events.ParseRecordID(ch.ErasedAt)
		partition := events.PartitionOf([]byte(ch.ChannelID), r.inputs)
		if err != nil { // the position before the first erasure
			r.early[partition] = true
			continue
		}
		r.erased[partition] = max(r.erased[partition], id.Offset)
	}
	if err := r.remains(ctx); err != nil {
		return nil, nil, err
	}
	for _, s := range r.res.Snapshots {
		if !s.Erased {
			found = append(found, fmt.Sprintf("the snapshot of partition %d of %s is from before the erasure", s.Partition, s.At.UTC().Format("2006-01-02 15:04")))
		}
	}
	second := r.res.Certificate(r.Now())
	second.Kind = KindScan
	return second, found, nil
}
