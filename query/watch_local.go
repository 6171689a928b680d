package query

import (
	"context"
	"hash/maphash"
	"reflect"
	"time"

	"github.com/tidemark/tidemark/internal/watch"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/expiry"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/internal/selection"
	"github.com/tidemark/tidemark/query/internal/totals"
	"github.com/tidemark/tidemark/query/queryv1"
)

// localWatch follows one user in partitions that are live here.
type localWatch struct {
	s          *service
	userID     string
	partitions []int32
	watchers   []watch.Watcher // by index of partitions
	emit       emit

	// Totals are the sum over what was sent: tally is kept by the difference that each channel
	// makes. known has the channels that add to it, those of which something was said, and those
	// that were sent.
	tally totals.Tally
	known map[string]knownChannel
	// threads has those that were told, by channel and thread id, and what each adds to the totals.
	threads map[string]map[string]knownThread
	levels  *expiry.Stream
	// unlisted has hashes of the ids of the user's channels if the snapshot did not list all: the
	// client may have paged them, so it must hear when they leave one, and of no others.
	unlisted map[uint64]struct{}
	seed     maphash.Seed
}

// watchLocal emits a snapshot of partitions ps and then what changes in them. It ends with
// unavailable when one of them stops being live here. now is the time of the snapshot, in Unix
// milliseconds.
func (s *service) watchLocal(ctx context.Context, userID string, ps []int32, a position.After, now int64, e emit) error {
	w := newLocalWatch(s, userID, ps, e)
	defer w.stop()
	// Watching begins before the snapshot is read, so that no change falls between the two. One
	// that is in both is recognised by its hash.
	for _, p := range ps {
		watcher, err := s.node.Watch(p, userID)
		if err != nil {
			return fault.Unavailable("partition %d is not live here: %v", p, err)
		}
		w.watchers = append(w.watchers, watcher)
	}
	if err := w.snapshot(ctx, a, now); err != nil {
		return err
	}
	return w.follow(ctx)
}

func newLocalWatch(s *service, userID string, ps []int32, e emit) *localWatch {
	return &localWatch{
		s: s, userID: userID, partitions: ps, emit: e, known: map[string]knownChannel{},
		threads: map[string]map[string]knownThread{}, levels: s.levels.Stream(), seed: maphash.MakeSeed(),
	}
}

func (w *localWatch) stop() {
	w.levels.Stop()
	for _, watcher := range w.watchers {
		watcher.Stop()
	}
}

func (w *localWatch) snapshot(ctx context.Context, a position.After, now int64) error {
	var all []uint64
	sel := &sweep{
		call: "WatchUnread", what: "the inbox", Pages: selection.Pages{
			User: w.userID, Now: now,
			Inbox:   &selection.Selection{Size: maxSnapshot, Filter: selection.Filter{Archived: selection.AllArchived}},
			Threads: &selection.Selection{Size: maxSnapshot},
		},
	}
	sel.each = func(e *projections.InboxEntry) {
		all = append(all, maphash.Bytes(w.seed, e.ChannelID))
		if e.Standing != nil || e.Unread > 0 || e.Mentions > 0 {
			id := string(e.ChannelID)
			w.known[id] = knownChannel{part: totals.PartOf(e.Unread, e.Mentions, e.Standing, now), labels: e.Standing.Labels()}
			if e.Standing != nil {
				w.levels.Put(id, e.Standing.Levels.At(now).Until)
			}
		}
	}
	sel.eachThread = func(e *projections.ThreadEntry) {
		w.keepThread(string(e.ChannelID), string(e.ThreadID), knownThread{part: totals.PartOf(e.Unread, e.Mentions, e.Standing, now)})
	}
	res, err := w.s.localInbox(ctx, w.partitions, a, sel)
	if err != nil {
		return err
	}
	if sel.Inbox.More {
		w.unlisted = make(map[uint64]struct{}, len(all))
		for _, h := range all {
			w.unlisted[h] = struct{}{}
		}
	}
	for _, c := range res.Channels {
		k := w.known[c.ChannelId]
		k.hash = w.hash(c)
		w.known[c.ChannelId] = k
	}
	w.s.forSnapshot(w.userID, res)
	threads := threadsOf(sel.Threads, now)
	for _, t := range threads {
		w.noteThread(t)
	}
	w.tally = sel.Tally
	return w.emit(&queryv1.WatchUnreadResponse{
		Event: &queryv1.WatchUnreadResponse_Snapshot{Snapshot: &queryv1.WatchSnapshot{
			Channels: res.Channels, Totals: res.Totals, NextPageToken: res.NextPageToken, Threads: threads,
			TotalsByLabel: res.TotalsByLabel,
		}},
		AsOf: res.AsOf, EvaluatedAt: res.EvaluatedAt,
	})
}

// follow waits on the signals of all partitions at once: a goroutine for each would be thousands
// for every node.
func (w *localWatch) follow(ctx context.Context) error {
	heartbeat := time.NewTimer(w.s.heartbeat)
	defer heartbeat.Stop()
	receive := func(c any) reflect.SelectCase {
		return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)}
	}
	const done, beat, ended, first = 0, 1, 2, 3
	cases := make([]reflect.SelectCase, first, first+len(w.watchers))
	cases[done], cases[beat], cases[ended] = receive(ctx.Done()), receive(heartbeat.C), receive(w.levels.Signal())
	for _, watcher := range w.watchers {
		cases = append(cases, receive(watcher.Signal()))
	}
	for {
		i, _, open := reflect.Select(cases)
		var err error
		switch {
		case i == done:
			return context.Cause(ctx)
		case i == beat:
			err = w.emit(&queryv1.WatchUnreadResponse{})
		case i == ended:
			err = w.levelsEnded(ctx)
		case !open:
			return fault.Unavailable("partition %d is moving: watch again", w.partitions[i-first])
		default:
			err = w.changed(ctx, i-first)
		}
		if err != nil {
			return err
		}
		heartbeat.Reset(w.s.heartbeat)
	}
}
