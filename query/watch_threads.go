package query

import (
	"slices"

	"github.com/tidemark/tidemark/internal/badge"
	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/queryv1"
)

// firstThreads are those of a snapshot, in the order of GetThreads.
func firstThreads(threads []*queryv1.ThreadUnread) []*queryv1.ThreadUnread {
	slices.SortFunc(threads, func(a, b *queryv1.ThreadUnread) int { return threadKey(a).Compare(threadKey(b)) })
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

// updateThreads sends the threads that changed; totals are those after all of them.
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
