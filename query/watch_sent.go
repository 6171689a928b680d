package query

import (
	"hash/maphash"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/internal/badge"
	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/queryv1"
)

// knownChannel is a channel's part in the totals and a hash of the value that was sent, 0 if none
// was.
type knownChannel struct {
	part   badge.Part // zero if the user is not a member
	labels []string
	hash   uint64
	gone   bool // the client has been notified that the user is not a member
}

// knownThread is knownChannel for a thread. Its labels are those of its channel.
type knownThread struct {
	part badge.Part
	hash uint64
}

// update sends the changes of one reading, with the totals after all of them.
func (w *localWatch) update(channels []*queryv1.ChannelUnread, as *reading) error {
	fresh := channels[:0]
	labels := make([][]string, 0, len(channels))
	for _, c := range channels {
		was := w.known[c.ChannelId].labels
		if w.note(c) {
			fresh, labels = append(fresh, c), append(labels, united(was, w.known[c.ChannelId].labels))
		}
	}
	totals := w.tally.All.Totals()
	for i, c := range fresh {
		if !c.Member {
			// The user may see nothing of the channel any more, especially not its latest message.
			c = &queryv1.ChannelUnread{ChannelId: c.ChannelId}
		}
		err := w.emit(&queryv1.WatchUnreadResponse{
			Event: &queryv1.WatchUnreadResponse_Update{Update: &queryv1.WatchUpdate{
				Channel: c, Totals: totals, TotalsByLabel: w.tally.Of(labels[i]),
			}},
			AsOf: as.asOf, EvaluatedAt: answer.Timestamp(as.now),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// note adds c to the totals, and reports whether it differs from what was sent before.
func (w *localWatch) note(c *queryv1.ChannelUnread) bool {
	old, known := w.known[c.ChannelId]
	var now knownChannel
	switch {
	case c.Member:
		now = knownChannel{
			part: badge.Part{
				Unread: c.Unread, Mentions: c.Mentions, Level: answer.LevelOf(c.Level), Flagged: c.Flagged, Archived: c.Archived,
			},
			labels: c.Labels, hash: w.hash(c),
		}
		w.levels.Put(c.ChannelId, untilOf(c))
		if old.hash == now.hash {
			return false
		}
	case old.gone:
		return false
	default:
		if _, paged := w.unlisted[maphash.String(w.seed, c.ChannelId)]; !known && !paged {
			return false // the user is not a member, and the client was never sent this channel
		}
		now.gone = true
		w.levels.Put(c.ChannelId, 0)
	}
	w.tally.AddChannel(old.part, old.labels, -1)
	w.tally.AddChannel(now.part, now.labels, 1)
	if !slices.Equal(old.labels, now.labels) {
		for _, t := range w.threads[c.ChannelId] {
			w.tally.AddThread(t.part, old.labels, -1)
			w.tally.AddThread(t.part, now.labels, 1)
		}
	}
	w.known[c.ChannelId] = now
	return true
}

// untilOf returns when the level of a channel ends, in Unix milliseconds; 0: never.
func untilOf(c *queryv1.ChannelUnread) int64 {
	if c.Until == nil {
		return 0
	}
	return c.Until.AsTime().UnixMilli()
}

// united returns the union of both lists of labels.
func united(a, b []string) []string {
	if slices.Equal(a, b) {
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func (w *localWatch) hash(c proto.Message) uint64 {
	// This cannot fail: all text in c was validated as UTF-8 when it was decoded.
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	return max(maphash.Bytes(w.seed, b), 1)
}

// firstThreads returns the threads of a snapshot, in the order of GetThreads.
func firstThreads(threads []*queryv1.ThreadUnread) []*queryv1.ThreadUnread {
	slices.SortFunc(threads, answer.CompareThreads)
	return threads[:min(len(threads), maxSnapshot)]
}

func (w *localWatch) keepThread(channelID, threadID string, k knownThread) {
	of := w.threads[channelID]
	if of == nil {
		of = map[string]knownThread{}
		w.threads[channelID] = of
	}
	of[threadID] = k
}

// updateThreads sends the changed threads; totals are those after all of them.
func (w *localWatch) updateThreads(threads []*queryv1.ThreadUnread, as *reading) error {
	fresh := slices.DeleteFunc(threads, func(t *queryv1.ThreadUnread) bool { return !w.noteThread(t) })
	totals := w.tally.All.Totals()
	for _, t := range fresh {
		err := w.emit(&queryv1.WatchUnreadResponse{
			Event: &queryv1.WatchUnreadResponse_Update{Update: &queryv1.WatchUpdate{
				Thread: t, Totals: totals, TotalsByLabel: w.tally.Of(w.known[t.ChannelId].labels),
			}},
			AsOf: as.asOf, EvaluatedAt: answer.Timestamp(as.now),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// noteThread adds t to the totals, and reports whether it differs from what was sent before.
func (w *localWatch) noteThread(t *queryv1.ThreadUnread) bool {
	old, known := w.threads[t.ChannelId][t.ThreadId]
	if !known && !t.Following {
		return false
	}
	now := knownThread{hash: w.hash(t)}
	if t.Following {
		now.part = badge.Part{Unread: t.Unread, Mentions: t.Mentions, Level: answer.LevelOf(t.Level), Archived: t.Archived}
	}
	if known && old.hash == now.hash {
		return false
	}
	labels := w.known[t.ChannelId].labels
	w.tally.AddThread(old.part, labels, -1)
	w.tally.AddThread(now.part, labels, 1)
	if t.Following {
		w.keepThread(t.ChannelId, t.ThreadId, now)
	} else {
		delete(w.threads[t.ChannelId], t.ThreadId)
	}
	return true
}
