package rebuild

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
)

// outputRecord names the object of a record of the compacted topics.
type outputRecord struct {
	channels bool // of tidemark.channels
	key      string
}

// record returns the record whose value Redis would have.
func (d *Difference) record() outputRecord {
	if d.User == "" {
		return outputRecord{true, d.Channel}
	}
	var thread []byte
	if d.thread != "" {
		thread = []byte(d.thread)
	}
	return outputRecord{false, string(events.AppendUnreadKey(nil, []byte(d.User), []byte(d.Channel), thread))}
}

// late returns the differences for which the topics have records beyond the caches' cursors. Redis
// does not have them yet, because a cache was stopped or is behind. It reads the topics beyond the
// cursors, for partitions with differences.
func (v *verification) late(ctx context.Context, kept []Difference) (map[outputRecord]bool, error) {
	unread, channels := v.Topics.Unread, v.Topics.Channels
	if unread == "" {
		unread = events.TopicUnread
	}
	if channels == "" {
		channels = events.TopicChannels
	}
	cursors, err := cache.NewReader(v.Redis).Cursors(ctx)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(v.Brokers...), kgo.ClientID("tidemark-verify"), kgo.DisableClientMetrics(),
		kgo.ConsumeResetOffset(kgo.NoResetOffset())}, v.ClientOptions...)...)
	if err != nil {
		return nil, fmt.Errorf("client of Kafka: %w", err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, unread, channels)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("the ends of %s and %s are unknown, and so is whether the cache is behind: %w", unread, channels, err)
	}
	wanted, from := map[outputRecord]bool{}, map[string]map[int32]kgo.Offset{}
	left := map[string]map[int32]int64{}
	for i := range kept {
		d := &kept[i]
		wanted[d.record()] = true
		topic, of := unread, d.User
		if d.User == "" {
			topic, of = channels, d.Channel
		}
		n := events.PartitionOf([]byte(of), int32(len(ends[topic])))
		end := ends[topic][n].Offset
		at, read := cursors[fmt.Sprintf("%s/%d", topic, n)]
		if !read || at >= end {
			continue
		}
		if from[topic] == nil {
			from[topic], left[topic] = map[int32]kgo.Offset{}, map[int32]int64{}
		}
		from[topic][n], left[topic][n] = kgo.NewOffset().At(at), end
	}
	late := map[outputRecord]bool{}
	client.AddConsumePartitions(from)
	for more := len(from) > 0; more; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("reading the records that no cache has read yet: %w", err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if k := (outputRecord{r.Topic == channels, string(r.Key)}); wanted[k] {
				late[k] = true
			}
			if r.Offset+1 >= left[r.Topic][r.Partition] {
				delete(left[r.Topic], r.Partition)
			}
		})
		more = len(left[unread])+len(left[channels]) > 0
	}
	return late, nil
}
