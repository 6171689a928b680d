package query

import (
	"context"
	"hash/maphash"
	"reflect"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/internal/badge"
	"github.com/tidemark/tidemark/internal/watch"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/answer"
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

// knownChannel is what a channel adds to the totals and a hash of what was sent of it, 0 if nothing
// was.
type knownChannel struct {
	part   badge.Part // zero if no member
	labels []string
	hash   uint64
	gone   bool // the client was told that the user is no member
}

// knownThread is knownChannel for a thread. Its labels are those of its channel.
type knownThread struct {
	part badge.Part
	hash uint64
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
			// Nothing of the channel is for them any more, its latest message least of all.
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
			return false // not their channel, and the client never heard of it
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

// untilOf is when the level of a channel ends, in Unix milliseconds; 0: never.
func untilOf(c *queryv1.ChannelUnread) int64 {
	if c.Until == nil {
		return 0
	}
	return c.Until.AsTime().UnixMilli()
}

// united has the labels of both lists, each once.
func united(a, b []string) []string {
	if slices.Equal(a, b) {
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func (w *localWatch) hash(c proto.Message) uint64 {
	// It cannot fail: all text in c was found to be UTF-8 when it was decoded.
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	return max(maphash.Bytes(w.seed, b), 1)
}
