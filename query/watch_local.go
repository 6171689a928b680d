package query

import (
	"context"
	"hash/maphash"
	"reflect"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
)

// viewsPerLock bounds how many channels are looked at under one hold of a partition's lock.
const viewsPerLock = 256

// localWatch follows one user in partitions that are live here.
type localWatch struct {
	s          *service
	userID     string
	partitions []int32
	watchers   []Watcher // by index of partitions
	emit       emit

	// Totals are the sum over what was sent: sums is kept by the difference that each channel makes. known has the
	// channels that have unread or were sent.
	sums  sums
	known map[string]knownChannel
	// threads has those that were told, by channel and thread id, and what each adds to the totals.
	threads map[string]map[string]knownChannel
	// unlisted has hashes of the ids of the user's channels if the snapshot did not list all: the client may have paged
	// them, so it must hear when he leaves one, and of no others.
	unlisted map[uint64]struct{}
	seed     maphash.Seed
}

// knownChannel is what a channel adds to the totals and a hash of what was sent of it, 0 if nothing was.
type knownChannel struct {
	unread, mentions uint32 // 0 if muted or no member
	hash             uint64
	gone             bool // the client was told that the user is no member
}

// watchLocal emits a snapshot of partitions ps and then what changes in them. It ends with unavailable when one of them
// stops being live here.
func (s *service) watchLocal(ctx context.Context, userID string, ps []int32, a after, e emit) error {
	w := &localWatch{s: s, userID: userID, partitions: ps, emit: e, known: map[string]knownChannel{}, threads: map[string]map[string]knownChannel{}, seed: maphash.MakeSeed()}
	defer w.stop()
	// Watching begins before the snapshot is read, so that no change falls between the two. One that is in both is
	// recognised by its hash.
	for _, p := range ps {
		watcher, err := s.node.Watch(p, userID)
		if err != nil {
			return unavailable("partition %d is not live here: %v", p, err)
		}
		w.watchers = append(w.watchers, watcher)
	}
	if err := w.snapshot(ctx, a); err != nil {
		return err
	}
	return w.follow(ctx)
}

func (w *localWatch) stop() {
	for _, watcher := range w.watchers {
		watcher.Stop()
	}
}

func (w *localWatch) snapshot(ctx context.Context, a after) error {
	var all []uint64
	sel := &selection{size: maxSnapshot, each: func(e *projections.InboxEntry) {
		all = append(all, maphash.Bytes(w.seed, e.ChannelID))
		if !e.Muted && (e.Unread > 0 || e.Mentions > 0) {
			w.known[string(e.ChannelID)] = knownChannel{unread: e.Unread, mentions: e.Mentions}
		}
	}}
	var threads []*queryv1.ThreadUnread
	sel.eachThread = func(v *projections.ThreadView) { threads = append(threads, threadUnread(v)) }
	res, err := w.s.localInbox(ctx, w.userID, w.partitions, a, sel)
	if err != nil {
		return err
	}
	w.sums = sel.sums
	if sel.more {
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
	for _, t := range threads {
		w.noteThread(t)
	}
	w.sums = sel.sums
	return w.emit(&queryv1.WatchUnreadResponse{
		Event: &queryv1.WatchUnreadResponse_Snapshot{Snapshot: &queryv1.WatchSnapshot{
			Channels: res.Channels, Totals: res.Totals, NextPageToken: res.NextPageToken, Threads: firstThreads(threads),
		}},
		AsOf: res.AsOf,
	})
}

// follow waits on the signals of all partitions at once: a goroutine for each would be thousands for every node.
func (w *localWatch) follow(ctx context.Context) error {
	heartbeat := time.NewTimer(w.s.heartbeat)
	defer heartbeat.Stop()
	receive := func(c any) reflect.SelectCase {
		return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)}
	}
	const done, beat, first = 0, 1, 2
	cases := make([]reflect.SelectCase, first, first+len(w.watchers))
	cases[done], cases[beat] = receive(ctx.Done()), receive(heartbeat.C)
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
		case !open:
			return unavailable("partition %d is moving: watch again", w.partitions[i-first])
		default:
			err = w.changed(i - first)
		}
		if err != nil {
			return err
		}
		heartbeat.Reset(w.s.heartbeat)
	}
}

// changed sends the channels that changed in the i-th partition.
func (w *localWatch) changed(i int) error {
	p := w.partitions[i]
	ids := w.watchers[i].Changed()
	for len(ids) > 0 {
		n := min(len(ids), viewsPerLock)
		updates := make([]*queryv1.ChannelUnread, 0, n)
		var threads []*queryv1.ThreadUnread
		var position projections.Position
		err := w.s.read(p, func(part *projections.Partition) {
			position = part.Position()
			for _, channelID := range ids[:n] {
				c := &queryv1.ChannelUnread{ChannelId: channelID} // deleted: what is left is that it is gone
				if v, ok := part.View(w.userID, channelID); ok {
					c = channelUnread(&v)
				}
				updates = append(updates, c)
				threads = append(threads, w.threadsIn(part, channelID)...)
			}
		})
		if err != nil {
			return unavailable("partition %d is moving: watch again: %v", p, err)
		}
		ids = ids[n:]
		asOf := w.s.topics.asOf(nil, p, position)
		if err := w.update(updates, asOf); err != nil {
			return err
		}
		if err := w.updateThreads(threads, asOf); err != nil {
			return err
		}
	}
	return nil
}

// update sends what is new of one reading; its totals are those after all of it.
func (w *localWatch) update(channels []*queryv1.ChannelUnread, asOf []string) error {
	fresh := channels[:0]
	for _, c := range channels {
		if w.note(c) {
			fresh = append(fresh, c)
		}
	}
	totals := w.sums.totals()
	for _, c := range fresh {
		if !c.Member {
			// Nothing of the channel is for him any more, its latest message least of all.
			c = &queryv1.ChannelUnread{ChannelId: c.ChannelId}
		}
		err := w.emit(&queryv1.WatchUnreadResponse{
			Event: &queryv1.WatchUnreadResponse_Update{Update: &queryv1.WatchUpdate{Channel: c, Totals: totals}},
			AsOf:  asOf,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// note takes c into the totals and reports whether it says anything new.
func (w *localWatch) note(c *queryv1.ChannelUnread) bool {
	old, known := w.known[c.ChannelId]
	var now knownChannel
	switch {
	case c.Member:
		now.hash = w.hash(c)
		if !c.Muted {
			now.unread, now.mentions = c.Unread, c.Mentions
		}
		if old.hash == now.hash {
			return false
		}
	case old.gone:
		return false
	default:
		if _, paged := w.unlisted[maphash.String(w.seed, c.ChannelId)]; !known && !paged {
			return false // not his channel, and the client never heard of it
		}
		now.gone = true
	}
	w.sums.unread += int64(now.unread) - int64(old.unread)
	w.sums.mentions += int64(now.mentions) - int64(old.mentions)
	if now.unread > 0 {
		w.sums.channels++
	}
	if old.unread > 0 {
		w.sums.channels--
	}
	w.known[c.ChannelId] = now
	return true
}

func (w *localWatch) hash(c proto.Message) uint64 {
	// It cannot fail: all text in c was found to be UTF-8 when it was decoded.
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	return max(maphash.Bytes(w.seed, b), 1)
}
