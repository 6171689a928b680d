package checker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// While a partition has two owners they may publish values of which neither stamp dominates the other. The next value of
// the one that stays dominates both (DESIGN §1): a nudge makes there be one.

// Undecided are the keys of which no value dominates all others.
func (h *History) Undecided() (keys []string) {
	for _, key := range h.Keys {
		if newest(h.of[key]) == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Nudge are records that change what is told about a key of tidemark.unread: of a channel whether it is muted, of a thread
// the epoch. Who is gone is erased again after that. There is none if nothing is told about the key any more.
func (l *Log) Nudge(key string, now time.Time) (out []*kgo.Record) {
	u, c, thread, ok := events.SplitUnreadKey([]byte(key))
	if !ok {
		return nil
	}
	user, channel := string(u), string(c)
	add := func(e *eventsv1.ReadEvent) {
		e.ChannelId, e.UserId = channel, user
		value, err := proto.Marshal(e)
		if err != nil {
			panic(err) // of an event that was made here
		}
		out = append(out, &kgo.Record{Topic: events.TopicReads, Partition: events.PartitionOf(c, int32(len(l.models))), Key: []byte(channel),
			Value: value, Timestamp: now})
	}
	if len(thread) == 0 {
		v, ok := l.View(user, channel)
		if !ok {
			return nil
		}
		add(&eventsv1.ReadEvent{Kind: &eventsv1.ReadEvent_ChannelMuted{ChannelMuted: &eventsv1.ChannelMuted{Muted: !v.Muted}}})
	} else {
		if _, ok := l.Model(channel).Thread(user, channel, string(thread)); !ok {
			return nil
		}
		add(&eventsv1.ReadEvent{Kind: &eventsv1.ReadEvent_MarkedUnread{MarkedUnread: &eventsv1.MarkedUnread{MessageId: string(thread), ThreadId: string(thread)}}})
	}
	if l.goneFrom(user, channel) {
		add(&eventsv1.ReadEvent{Kind: &eventsv1.ReadEvent_UserErased{UserErased: &eventsv1.UserErased{}}})
	}
	return out
}

// Nudges are those of every key that anything is told about.
func (l *Log) Nudges(now time.Time) (out []*kgo.Record) {
	for _, channel := range l.Channels() {
		for _, thread := range append([]string{""}, l.Model(channel).Threads(channel)...) {
			for _, user := range l.Users {
				out = append(out, l.Nudge(string(events.AppendUnreadKey(nil, []byte(user), []byte(channel), []byte(thread))), now)...)
			}
		}
	}
	return out
}
