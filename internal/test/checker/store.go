package checker

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
)

// Prefix returns the records of one partition up to a position. Each topic keeps its order.
func Prefix(records []*kgo.Record, position projections.Position) []*kgo.Record {
	var out []*kgo.Record
	for _, r := range records {
		if r.Offset < position[input(r)] {
			out = append(out, r)
		}
	}
	return out
}

func input(r *kgo.Record) events.Input {
	for i, topic := range events.InputTopics {
		if r.Topic == topic {
			return events.Input(i)
		}
	}
	panic("a record of " + r.Topic + ", which is no input")
}

// Store compares all answers of a partition with the model of the log (O1 to O4), which must have
// the records up to the partition's position. It also checks that nothing is left of users who are
// gone.
func Store(l *Log, p *projections.Partition) *Findings {
	n := p.Identity().Partition
	f := &Findings{What: fmt.Sprintf("partition %d at position %v against the model of the log up to there", n, p.Position())}
	asked := &model.WithCold{Partition: p}
	defer asked.Close()
	if diff := l.models[n].Diff(asked); diff != "" {
		for line := range strings.SplitSeq(diff, "\n") {
			f.Add("%s", line)
		}
		return f
	}
	l.sequences(asked, f)
	l.goneFromStore(asked, f)
	return f
}

// sequences checks that no message of a channel has two seqs (O2), by an explanation for a user who
// was never there, and that no pointer is beyond the head (O3). In a log that is longer than the index,
// an id may be posted again.
func (l *Log) sequences(p *model.WithCold, f *Findings) {
	for _, channel := range l.Channels() {
		x, ok := p.Explain(nobody, channel)
		if !ok {
			continue
		}
		seen := map[string]bool{}
		for _, id := range x.MessageIDs {
			if seen[id] && id != "" && !l.outlasts(channel) {
				f.Add("channel %s: the message %s has two seqs", channel, id)
			}
			seen[id] = true
		}
		c, _ := p.Channel(channel)
		for _, user := range l.Users {
			if v, ok := p.View(user, channel); ok && v.LastRead.Seq > c.HeadSeq {
				f.Add("%s, %s: read up to seq %d, beyond the head, %d (O3)", user, channel, v.LastRead.Seq, c.HeadSeq)
			}
		}
	}
}

// outlasts reports whether a channel's messages are of a time longer than the index keeps ids.
func (l *Log) outlasts(channel string) bool {
	list := l.logs[channel].messages
	return len(list) > 0 && l.now-list[0].timestamp > l.settings.IndexRetention
}

// nobody is a user whom no event names.
const nobody = "nobody"

// Digests folds the records in the given order into a new store, and checks that its digest is want
// (O5, O11). id must be the identity of the compared store.
func Digests(id projections.Identity, records []*kgo.Record, want [16]byte) (f *Findings, err error) {
	f = &Findings{What: fmt.Sprintf("the digest of partition %d against that of a replay", id.Partition)}
	p, err := projections.Open("replay", id, projections.Options{FS: vfs.NewMem(), MemTableSize: 1 << 20})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	var out projections.Deltas
	for _, r := range records {
		Fold(p, r, id.Partitions)
	}
	p.Drain(&out, true)
	cut, err := p.Cut()
	if err != nil {
		return nil, err
	}
	if err := cut.Apply(); err != nil {
		return nil, err
	}
	if got := p.Digest(); got != want {
		f.Add("%d records give %x, the store at %v has %x", len(records), got, p.Position(), want)
	}
	return f, nil
}

// Fold folds a record, or skips a bad one, and reports whether it was good.
func Fold(p *projections.Partition, r *kgo.Record, partitions int32) (good bool) {
	var d events.Decoder
	ms := r.Timestamp.UnixMilli()
	in := input(r)
	var err error
	switch in {
	case events.Messages:
		var e events.Message
		if err = d.Message(r.Value, ms, &e); err == nil {
			err = events.CheckPartition(e.ChannelID, r.Partition, partitions)
		}
		if err == nil {
			p.FoldMessage(&e, r.Offset, ms)
		}
	case events.Reads:
		var e events.Read
		if err = d.Read(r.Value, ms, &e); err == nil {
			err = events.CheckPartition(e.ChannelID, r.Partition, partitions)
		}
		if err == nil {
			p.FoldRead(&e, r.Offset, ms)
		}
	case events.Deliveries:
		var e events.Delivery
		if err = d.Delivery(r.Value, ms, &e); err == nil {
			err = events.CheckPartition(e.ChannelID, r.Partition, partitions)
		}
		if err == nil {
			p.FoldDelivery(&e, r.Offset, ms)
		}
	}
	if err != nil {
		p.Skip(in, r.Offset+1)
	}
	return err == nil
}
