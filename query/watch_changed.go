package query

import (
	"context"
	"time"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/internal/cold"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/queryv1"
)

const (
	// watchHold is how long a watch holds a partition's lock while it reads changes.
	watchHold = 500 * time.Microsecond
	// threadsPerLook is how many threads are read between two checks of the clock.
	threadsPerLook = 16
)

// changes are the changed channels of a partition that have not been sent yet. They are read in as
// many holds of the lock as needed, each at its own position, which never goes back. A channel with
// many followed threads may take several; a thread that is sent twice is newer the second time.
type changes struct {
	channels []string
	list     *projections.Sweep // the followed threads in the first channel; nil: not begun
	threads  []string           // threads of the list, and threads sent before, that are still to be read

	standing projections.Standing // of the first channel, once the list is begun
}

// reading is the data read in one hold of the lock. It is complete when its views are ended.
type reading struct {
	position projections.Position
	asOf     []string
	now      int64 // the time as of which it is evaluated, Unix milliseconds
	channels []*projections.View
	threads  []readThread
}

// readThread is a thread and the standing of its channel.
type readThread struct {
	view     *projections.ThreadView
	standing projections.Standing
}

// changed sends the channels that changed in the i-th partition.
func (w *localWatch) changed(ctx context.Context, i int) error {
	return w.send(ctx, w.partitions[i], w.watchers[i].Changed())
}

// levelsEnded sends the channels whose level ended.
func (w *localWatch) levelsEnded(ctx context.Context) error {
	n, err := w.s.partitions()
	if err != nil {
		return err
	}
	in := map[int32][]string{}
	for _, id := range w.levels.Due() {
		p := partitionOf(id, n)
		in[p] = append(in[p], id)
	}
	for p, channels := range in {
		if err := w.send(ctx, p, channels); err != nil {
			return err
		}
	}
	return nil
}

// send sends channels of partition p.
func (w *localWatch) send(ctx context.Context, p int32, channels []string) error {
	c := &changes{channels: channels}
	for len(c.channels) > 0 {
		r, err := w.readChanges(ctx, p, c)
		if err != nil {
			return fault.Unavailable("partition %d is moving: watch again: %v", p, err)
		}
		r.asOf, r.now = w.s.topics.AsOf(nil, p, r.position), w.s.now().UnixMilli()
		channels := make([]*queryv1.ChannelUnread, len(r.channels))
		for i, v := range r.channels {
			channels[i] = answer.Channel(v, r.now)
		}
		if err := w.update(channels, &r); err != nil {
			return err
		}
		threads := make([]*queryv1.ThreadUnread, len(r.threads))
		for i, t := range r.threads {
			threads[i] = answer.Thread(t.view, &t.standing, r.now)
		}
		if err := w.updateThreads(threads, &r); err != nil {
			return err
		}
	}
	return nil
}

// readChanges holds the lock of partition p once, and reads from the store afterwards.
func (w *localWatch) readChanges(ctx context.Context, p int32, c *changes) (r reading, err error) {
	var share cold.Share
	defer share.Close()
	var views *projections.Views
	defer func() {
		if views != nil { // begun and not ended: err has the cause, or a panic is in progress
			views.Drop()
		}
	}()
	err = w.s.readChannel(p, c.channels[0], &share, func(part *projections.Partition) {
		defer part.TimeHold("WatchUnread")()
		views, r.position = part.BeginViews(), part.Position()
		w.readLocked(part, views, c, &r)
	})
	if err != nil {
		return r, err
	}
	begun := views
	views = nil
	return r, begun.End(ctx)
}

// readLocked reads changes until there are none left, the next channel is not in part, or watchHold
// is over. The caller holds the partition's lock, unless part has only the first channel, which is
// cold.
func (w *localWatch) readLocked(part *projections.Partition, views *projections.Views, c *changes, r *reading) {
	first := c.channels[0]
	for until := w.s.now().Add(watchHold); len(c.channels) > 0; {
		channelID := c.channels[0]
		if channelID != first && (part.Cold() || part.IsCold(channelID)) {
			return
		}
		if c.list == nil {
			v, ok := views.View(w.userID, channelID)
			if !ok {
				v.ChannelID = channelID // deleted: the message only states that it is gone
			}
			r.channels = append(r.channels, v)
			c.standing = v.Standing()
			c.list = &projections.Sweep{UserID: w.userID, ThreadsOf: channelID, Panel: true}
		}
		if c.threads == nil {
			for !c.list.Step(part) {
				if !part.Cold() { // another hold continues
					return
				}
			}
			c.threads = w.threadsIn(channelID, c.list)
			c.list.Free()
		}
		for n := 0; len(c.threads) > 0; n++ {
			if n > 0 && n%threadsPerLook == 0 && !w.s.now().Before(until) {
				return
			}
			r.threads = append(r.threads, readThread{views.ListedThread(w.userID, channelID, c.threads[0]), c.standing})
			c.threads = c.threads[1:]
		}
		c.channels, c.list, c.threads = c.channels[1:], nil, nil
		if !w.s.now().Before(until) {
			return
		}
	}
}

// threadsIn returns the ids of the threads in a channel to read: those that the user follows, and
// those sent before, which the user may no longer follow.
func (w *localWatch) threadsIn(channelID string, list *projections.Sweep) (out []string) {
	sent := w.threads[channelID]
	fresh := 0
	list.EachThread(func(e *projections.ThreadEntry) {
		if _, is := sent[string(e.ThreadID)]; !is {
			fresh++
		}
	})
	out = make([]string, 0, len(sent)+fresh)
	for id := range sent {
		out = append(out, id)
	}
	list.EachThread(func(e *projections.ThreadEntry) {
		if _, is := sent[string(e.ThreadID)]; !is {
			out = append(out, string(e.ThreadID))
		}
	})
	return out
}
