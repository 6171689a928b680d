package query

import (
	"context"
	"hash/maphash"
	"reflect"
	"slices"
	"time"

	"github.com/tidemark/tidemark/internal/watch"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/expiry"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/owners"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/internal/selection"
	"github.com/tidemark/tidemark/query/internal/totals"
	"github.com/tidemark/tidemark/query/queryv1"
)

// localWatch follows one user in partitions of this node.
type localWatch struct {
	s          *service
	userID     string
	own        []int32         // this node's live partitions
	out        []int32         // not live, and with nothing of the user
	partitions []int32         // the followed partitions, which hold something of the user
	watchers   []watch.Watcher // by index of partitions
	arrivals   watch.Arrivals  // reports partitions that are not followed yet
	emit       emit

	// Totals are the sum over everything sent; tally is updated by the difference that each channel
	// makes. known has the channels that add to it, those with settings or updates, and those that
	// were sent.
	tally totals.Tally
	known map[string]knownChannel
	// threads has the sent threads, by channel and thread id, and the part of each in the totals.
	threads map[string]map[string]knownThread
	levels  *expiry.Stream
	// unlisted has hashes of the ids of the user's channels if the snapshot did not list all. The
	// client may have paged those, so it must be notified when the user leaves one, but about no
	// other channels.
	unlisted map[uint64]struct{}
	seed     maphash.Seed
}

// watchLocal emits a snapshot of this node's partitions and then their changes. It ends with
// unavailable when one of them stops being live here, and when one that was left out must be called
// again. now is the time of the snapshot, in Unix milliseconds.
func (s *service) watchLocal(ctx context.Context, userID string, o owners.Shares, a position.After, now int64, e emit) error {
	w := newLocalWatch(s, userID, o, e)
	defer w.stop()
	if err := s.wait(ctx, a, w.own...); err != nil {
		return err
	}
	// Arrivals are collected before Here is called, and changes before the snapshot is read, so
	// that nothing is missed between two of these steps. A hash detects data that is in both.
	holding, out, err := s.owners.Here(w.own, owners.User(userID, a))
	if err != nil {
		return err
	}
	w.out = append(w.out, out...)
	for _, p := range holding {
		if err := w.watch(p); err != nil {
			return err
		}
	}
	if err := w.snapshot(ctx, a, now); err != nil {
		return err
	}
	return w.follow(ctx)
}

func newLocalWatch(s *service, userID string, o owners.Shares, e emit) *localWatch {
	return &localWatch{
		s: s, userID: userID, own: o.Local, out: slices.Clone(o.Out), emit: e, known: map[string]knownChannel{}, arrivals: s.node.Arrivals(userID),
		threads: map[string]map[string]knownThread{}, levels: s.levels.Stream(), seed: maphash.MakeSeed(),
	}
}

func (w *localWatch) stop() {
	w.arrivals.Stop()
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
	res, err := w.s.localInbox(ctx, w.own, a, sel)
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

// outEvery is how often partitions that were left out are checked.
const outEvery = time.Second

// follow waits on the signals of all partitions at once, because a goroutine for each would make
// thousands on every node.
func (w *localWatch) follow(ctx context.Context) error {
	heartbeat := time.NewTimer(w.s.heartbeat)
	defer heartbeat.Stop()
	look := time.NewTicker(outEvery)
	defer look.Stop()
	if len(w.out) == 0 {
		look.Stop()
	}
	receive := func(c any) reflect.SelectCase {
		return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)}
	}
	const done, beat, ended, back, arrived, first = 0, 1, 2, 3, 4, 5
	cases := make([]reflect.SelectCase, first, first+len(w.watchers))
	cases[done], cases[beat], cases[ended] = receive(ctx.Done()), receive(heartbeat.C), receive(w.levels.Signal())
	cases[back], cases[arrived] = receive(look.C), receive(w.arrivals.Signal())
	for {
		for _, watcher := range w.watchers[len(cases)-first:] {
			cases = append(cases, receive(watcher.Signal()))
		}
		i, _, open := reflect.Select(cases)
		var err error
		switch {
		case i == done:
			return context.Cause(ctx)
		case i == beat:
			err = w.emit(&queryv1.WatchUnreadResponse{})
		case i == ended:
			err = w.levelsEnded(ctx)
		case i == back:
			if err = w.checkLeftOut(); err == nil {
				continue // nothing was sent
			}
		case i == arrived && !open:
			return fault.Unavailable("a partition of this node is moving: watch again")
		case i == arrived:
			err = w.arrive(ctx)
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
