package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/model"
	"github.com/tidemark/tidemark/internal/testkit"
	"github.com/tidemark/tidemark/projections"
)

// truth is the log as it stands in the input topics, and what the model makes of it.
type truth struct {
	settings projections.Settings
	models   []*model.Model // by partition
	rooms    map[string]*roomLog
	users    []string
	bad      []badRecord
	after    []string // tokens of the last records
	records  int
}

// roomLog is what the log says about one channel.
type roomLog struct {
	messages   []messageAt
	reads      []readAt
	deliveries []deliveryAt
}

type (
	messageAt struct {
		event     events.Message
		offset    int64
		timestamp int64
	}
	readAt struct {
		event     events.Read
		offset    int64
		timestamp int64
	}
	deliveryAt struct {
		event     events.Delivery
		offset    int64
		timestamp int64
	}
)

// badRecord is a record of an input topic that must be among the dead letters.
type badRecord struct {
	*kgo.Record
	reason events.Reason
}

// records are all records of some topics up to their ends as they are now, in the order of each partition.
func (c *cluster) records(topics ...string) []*kgo.Record {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ends, err := c.admin.ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		c.t.Fatalf("ends of %v: %v", topics, err)
	}
	left := int64(0)
	from := map[string]map[int32]kgo.Offset{}
	ends.Each(func(end kadm.ListedOffset) {
		if from[end.Topic] == nil {
			from[end.Topic] = map[int32]kgo.Offset{}
		}
		from[end.Topic][end.Partition] = kgo.NewOffset().AtStart()
		left += end.Offset // nothing is compacted yet, and there are no transactions
	})
	client := testkit.Client(c.t, c.kafka.Brokers, kgo.ConsumePartitions(from))
	defer client.Close()
	var records []*kgo.Record
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := errors.Join(fetches.Err0(), ctx.Err()); err != nil {
			c.t.Fatalf("read %v, %d records are missing: %v", topics, left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, _ := ends.Lookup(r.Topic, r.Partition)
			if r.Offset < end.Offset {
				records = append(records, r)
				left--
			}
		})
	}
	return records
}

// truth reads the inputs.
func (c *cluster) truth() *truth {
	c.t.Helper()
	return newTruth(c.t, settings(), partitions, c.records(events.InputTopics[:]...))
}

func newTruth(t *testing.T, s projections.Settings, partitions int32, records []*kgo.Record) *truth {
	t.Helper()
	tr := &truth{settings: s, rooms: map[string]*roomLog{}, records: len(records)}
	for range partitions {
		tr.models = append(tr.models, model.New(s))
	}
	last := map[string]int64{}
	for _, r := range records {
		last[fmt.Sprintf("%s/%d", r.Topic, r.Partition)] = r.Offset
		if err := tr.add(r, partitions); err != nil {
			tr.bad = append(tr.bad, badRecord{r, events.ReasonOf(err)})
		}
	}
	for at, offset := range last {
		tr.after = append(tr.after, fmt.Sprintf("%s/%d", at, offset))
	}
	for _, m := range tr.models {
		tr.users = append(tr.users, m.Users()...)
	}
	slices.Sort(tr.users)
	tr.users = slices.Compact(tr.users)
	return tr
}

// add takes a record, or says why it is bad. Each record has its own decoder and event: what is decoded borrows.
func (tr *truth) add(r *kgo.Record, partitions int32) error {
	var d events.Decoder
	ms := r.Timestamp.UnixMilli()
	m := tr.models[r.Partition]
	switch r.Topic {
	case events.TopicMessages:
		e := messageAt{offset: r.Offset, timestamp: ms}
		if err := d.Message(r.Value, ms, &e.event); err != nil {
			return err
		}
		if err := events.CheckPartition(e.event.ChannelID, r.Partition, partitions); err != nil {
			return err
		}
		m.AddMessage(&e.event, e.offset, ms)
		log := tr.room(e.event.ChannelID)
		log.messages = append(log.messages, e)
	case events.TopicReads:
		e := readAt{offset: r.Offset, timestamp: ms}
		if err := d.Read(r.Value, ms, &e.event); err != nil {
			return err
		}
		if err := events.CheckPartition(e.event.ChannelID, r.Partition, partitions); err != nil {
			return err
		}
		m.AddRead(&e.event, e.offset, ms)
		log := tr.room(e.event.ChannelID)
		log.reads = append(log.reads, e)
	default:
		e := deliveryAt{offset: r.Offset, timestamp: ms}
		if err := d.Delivery(r.Value, ms, &e.event); err != nil {
			return err
		}
		if err := events.CheckPartition(e.event.ChannelID, r.Partition, partitions); err != nil {
			return err
		}
		m.AddDelivery(&e.event, e.offset, ms)
		log := tr.room(e.event.ChannelID)
		log.deliveries = append(log.deliveries, e)
	}
	return nil
}

func (tr *truth) room(id []byte) *roomLog {
	log := tr.rooms[string(id)]
	if log == nil {
		log = &roomLog{}
		tr.rooms[string(id)] = log
	}
	return log
}

// channels are all channels of the log, sorted.
func (tr *truth) channels() []string {
	var ids []string
	for id := range tr.rooms {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (tr *truth) model(channel string) *model.Model {
	return tr.models[events.PartitionOf([]byte(channel), int32(len(tr.models)))]
}

func (tr *truth) view(user, channel string) (projections.View, bool) {
	return tr.model(channel).View(user, channel)
}

// at is the model of what a delta with this stamp may know: the channel's messages and the user's own records before it.
// What a delta says is a function of exactly that (DESIGN §2).
func (tr *truth) at(user, channel string, s events.Stamp) *model.Model {
	m := model.New(tr.settings)
	log := tr.rooms[channel]
	if log == nil {
		return m
	}
	for i := range log.messages {
		if e := &log.messages[i]; e.offset < s.M {
			m.AddMessage(&e.event, e.offset, e.timestamp)
		}
	}
	for i := range log.reads {
		if e := &log.reads[i]; e.offset < s.R && string(e.event.UserID) == user {
			m.AddRead(&e.event, e.offset, e.timestamp)
		}
	}
	for i := range log.deliveries {
		if e := &log.deliveries[i]; e.offset < s.D && string(e.event.UserID) == user {
			m.AddDelivery(&e.event, e.offset, e.timestamp)
		}
	}
	return m
}

// findings are differences of one kind, in words.
type findings struct {
	what  string
	count int
	first []string
}

func (f *findings) add(format string, args ...any) {
	if f.count++; len(f.first) < 5 {
		f.first = append(f.first, fmt.Sprintf(format, args...))
	}
}

func (f *findings) String() string {
	return fmt.Sprintf("%s: %d differences, the first:\n%s", f.what, f.count, strings.Join(f.first, "\n"))
}

// report fails the test if there are any.
func (f *findings) report(t *testing.T) {
	t.Helper()
	if f.count > 0 {
		t.Error(f.String())
	}
}
