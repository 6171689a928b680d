package checker

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// AfterCompaction returns a reader of what compaction leaves of tidemark.unread and
// tidemark.channels: the last record of each key, whatever its stamp is.
func AfterCompaction(records []*kgo.Record, f *Findings) *Mirror {
	last := map[string]*kgo.Record{}
	for _, r := range records {
		last[r.Topic+"\x00"+string(r.Key)] = r
	}
	m := &Mirror{}
	for _, at := range slices.Sorted(maps.Keys(last)) {
		r := last[at]
		apply := m.Apply
		if r.Topic == events.TopicChannels {
			apply = m.ApplyChannel
		}
		if err := apply(r.Value); err != nil {
			f.Add("%s: %v", events.RecordID{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}, err)
		}
	}
	return m
}

// CheckChannels compares the record of every channel with the log, which must be read to its end.
// CheckLog compares what readers derive from these records, including holes and @all messages.
func (m *Mirror) CheckChannels(l *Log) *Findings {
	f := &Findings{What: "a reader of tidemark.channels against the model of the log"}
	for _, channel := range l.Channels() {
		of := l.Model(channel)
		now, _ := of.Channel(channel)
		got, was := m.channels[channel]
		if !was {
			if now.HeadSeq > 0 || now.MemberCount > 0 {
				f.Add("%q: nothing was published, but it is\n    %s", channel, describeChannel(now, false))
			}
			continue // or nothing happened that a record contains
		}
		if v, ok := of.View(nobody, channel); ok && got.Stamp.M > v.Stamp.M {
			f.Add("%q: the record is as of message %d, which is ahead of the log: that ends at %d", channel, got.Stamp.M, v.Stamp.M)
		}
		if message, want := describeChannel(viewOfChannel(&got, now), got.Deleted), describeChannel(now, of.Deleted(channel)); message != want {
			f.Add("%q: the record, as of message %d, says\n    %s\n  but it is\n    %s", channel, got.Stamp.M, message, want)
		}
	}
	return f
}

// viewOfChannel returns the channel view that a record describes. It ignores an id that has left
// the index since, because that is no change.
func viewOfChannel(r *events.ChannelRecord, now projections.ChannelView) projections.ChannelView {
	v := projections.ChannelView{
		ChannelID: string(r.ChannelID), HeadSeq: r.HeadSeq, HeadPos: r.HeadPos, MemberCount: r.MemberCount, Large: r.Large, Archived: r.Archived,
		Latest: projections.Head{
			MessageID: string(r.Latest.MessageID), Seq: r.Latest.Seq, Pos: r.Latest.Pos, At: r.Latest.At,
			SenderID: string(r.Latest.SenderID), Preview: string(r.Latest.Preview),
		},
	}
	for _, label := range r.Labels {
		v.Labels = append(v.Labels, string(label))
	}
	if now.Latest.MessageID == "" {
		v.Latest.MessageID, v.Latest.SenderID, v.Latest.Preview = "", "", ""
	}
	return v
}

func describeChannel(v projections.ChannelView, deleted bool) string {
	if deleted {
		return "deleted"
	}
	v.ChannelID = ""
	return fmt.Sprintf("%+v", v)
}
