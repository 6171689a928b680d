package query

import (
	"slices"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
)

// firstThreads are those of a snapshot, in the order of GetThreads.
func firstThreads(threads []*queryv1.ThreadUnread) []*queryv1.ThreadUnread {
	slices.SortFunc(threads, func(a, b *queryv1.ThreadUnread) int { return threadKey(a).compare(threadKey(b)) })
	return threads[:min(len(threads), maxSnapshot)]
}

// threadsIn is what the user sees of his threads in a channel that changed, and of those that he was told of and that are
// no longer his. The partition is locked.
func (w *localWatch) threadsIn(p *projections.Partition, channelID string) (out []*queryv1.ThreadUnread) {
	there := map[string]bool{}
	p.ThreadsIn(w.userID, channelID, func(v *projections.ThreadView) bool {
		there[v.ThreadID] = true
		out = append(out, threadUnread(v))
		return true
	})
	for id := range w.threads[channelID] {
		if !there[id] {
			out = append(out, &queryv1.ThreadUnread{ChannelId: channelID, ThreadId: id, ReadEpoch: 1})
		}
	}
	return out
}

// updateThreads sends the threads that changed; totals are those after all of them.
func (w *localWatch) updateThreads(threads []*queryv1.ThreadUnread, asOf []string) error {
	fresh := slices.DeleteFunc(threads, func(t *queryv1.ThreadUnread) bool { return !w.noteThread(t) })
	totals := w.sums.totals()
	for _, t := range fresh {
		err := w.emit(&queryv1.WatchUnreadResponse{
			Event: &queryv1.WatchUnreadResponse_Update{Update: &queryv1.WatchUpdate{Thread: t, Totals: totals}},
			AsOf:  asOf,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// noteThread takes t into the totals and reports whether it says anything new.
func (w *localWatch) noteThread(t *queryv1.ThreadUnread) bool {
	old, known := w.threads[t.ChannelId][t.ThreadId]
	if !known && !t.Following {
		return false
	}
	now := knownChannel{hash: w.hash(t)}
	if t.Following && !t.Muted {
		now.unread, now.mentions = t.Unread, t.Mentions
	}
	if known && old.hash == now.hash {
		return false
	}
	w.sums.threadUnread += int64(now.unread) - int64(old.unread)
	w.sums.threadMentions += int64(now.mentions) - int64(old.mentions)
	switch of := w.threads[t.ChannelId]; {
	case !t.Following:
		delete(of, t.ThreadId)
	case of == nil:
		w.threads[t.ChannelId] = map[string]knownChannel{t.ThreadId: now}
	default:
		of[t.ThreadId] = now
	}
	return true
}
