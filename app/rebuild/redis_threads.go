package rebuild

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/projections"
)

// threadReadFor is the time for which Redis certainly keeps the pointer of a thread. It counts 30
// days from the write, which came after the read (DESIGN §8). The hour is for differences of
// clocks.
const threadReadFor = 30*24*time.Hour - time.Hour

// threads compares the threads of a user in the channels of one partition: all listed ones must be
// in Redis, and all that are in Redis must be followed by the user and equal the store.
func (r *redisCheck) threads(ctx context.Context, number int32, p *projections.Partition, user string, channels []string) error {
	if r.format.NoThreads {
		return nil
	}
	entries, err := r.reader.Threads(ctx, user)
	if err != nil {
		return err
	}
	cached, ids := map[string]*cache.Entry{}, map[string]int{}
	for i := range entries {
		e := &entries[i]
		ids[e.ThreadID]++
		if r.of(e.ChannelID) == number {
			cached[cache.ThreadField(e.ChannelID, e.ThreadID)] = e
		}
	}
	var failed error
	err = p.Threads(user, func(v *projections.ThreadView) bool {
		field := cache.ThreadField(v.ChannelID, v.ThreadID)
		if cached[field] != nil {
			return true
		}
		var gone bool
		if gone, failed = r.goneBeyond(ctx, number, user, field); gone {
			r.count(&r.out.Newer)
		} else if failed == nil {
			r.threadDiffers(number, user, v.ChannelID, v.ThreadID, "the entry", "missing", fmt.Sprintf("there, with unread %d", v.Unread))
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	for _, e := range cached {
		v, ok := p.Thread(user, e.ChannelID, e.ThreadID)
		switch {
		case !ok || !v.Member || !v.Following || v.LastReply.Seq == 0:
			if ok && e.Stamp != v.Stamp && e.Stamp.Dominates(v.Stamp) {
				r.count(&r.out.Newer)
				continue
			}
			r.strayThread(number, user, e)
		default:
			r.count(&r.out.Threads)
			alone := ids[e.ThreadID] == 1 && !slices.ContainsFunc(channels, func(id string) bool {
				// A thread that Redis no longer lists may have left its pointer in the key.
				other, _ := p.Thread(user, id, e.ThreadID)
				return id != e.ChannelID && other.LastRead.Seq > 0
			})
			if err := r.thread(ctx, number, &v, e, alone); err != nil {
				return err
			}
		}
	}
	return nil
}

// thread compares one thread, and the key of its pointer if no other thread of the user can share
// that key.
func (r *redisCheck) thread(ctx context.Context, number int32, v *projections.ThreadView, e *cache.Entry, unique bool) error {
	if e.Stamp != v.Stamp && e.Stamp.Dominates(v.Stamp) {
		r.count(&r.out.Newer)
		return nil
	}
	differs := func(name, is, want string) {
		if is != want {
			r.threadDiffers(number, v.UserID, v.ChannelID, v.ThreadID, name, is, want)
		}
	}
	differs("unread", u(e.Unread), u(v.Unread))
	differs("mentions", u(e.Mentions), u(v.Mentions))
	for _, f := range mentionFields(e, v.DirectMentions, v.FirstMention) {
		differs(f.name, f.is, f.want)
	}
	differs("first_unread_id", e.FirstUnreadID, shownID(v.FirstUnread.MessageID, v.FirstUnread.Seq, e.FirstUnreadID))
	differs("latest_seq", u(e.LatestSeq), u(v.LastReply.Seq))
	differs("read_epoch", u(e.ReadEpoch), u(v.ReadEpoch))
	if e.Stamp.M != v.Stamp.M {
		return nil // an open time target moves the pointer with each message, and publishes it when it closes
	}
	differs("last_read_seq", u(e.LastReadSeq), u(v.LastRead.Seq))
	differs("touched_at", millis(e.TouchedAt.UnixMilli(), e.TouchedAt.IsZero()), millis(v.TouchedAt, v.TouchedAt == 0))
	if !unique || r.format.NoPointers {
		return nil
	}
	got, err := r.reader.ThreadRead(ctx, v.UserID, v.ThreadID)
	is := "message " + strconv.Quote(got.MessageID)
	switch {
	case err == nil && v.LastRead.Seq == 0:
		r.pointerDiffers(number, v, is, "none")
	case err == nil:
		want := "message " + strconv.Quote(shownID(v.LastRead.MessageID, v.LastRead.Seq, got.MessageID))
		// A read of the channel with its threads leaves a pointer without a time.
		at, wantAt := millis(got.At.UnixMilli(), got.At.IsZero()), millis(v.LastReadAt, v.LastReadAt == 0)
		if is != want || at != wantAt {
			r.pointerDiffers(number, v, is+" at "+at, want+" at "+wantAt)
		}
	case !errors.Is(err, cache.ErrMiss):
		return err
	case v.LastRead.Seq > 0 && time.Since(time.UnixMilli(v.LastReadAt)) < threadReadFor:
		r.pointerDiffers(number, v, "missing", "seq "+u(v.LastRead.Seq))
	}
	return nil
}

// threadDiffers adds a difference in a field of inbox-threads. Difference has no place for 0x00 or
// for a thread of its own.
func (r *redisCheck) threadDiffers(number int32, user, channel, thread, name, is, want string) {
	r.differs(Difference{Partition: number, Channel: channel, User: user, Field: "thread " + thread + ", " + name, Is: is, Want: want, thread: thread},
		cache.InboxThreadsKey(user), cache.ThreadField(channel, thread))
}

// pointerDiffers adds a difference in thread-read. A missing pointer is written with its entry.
func (r *redisCheck) pointerDiffers(number int32, v *projections.ThreadView, is, want string) {
	r.differs(Difference{Partition: number, Channel: v.ChannelID, User: v.UserID, Field: "the pointer", Is: is, Want: want, thread: v.ThreadID},
		cache.ThreadReadKey(v.UserID, v.ThreadID), "")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spoil(cache.InboxThreadsKey(v.UserID), cache.ThreadField(v.ChannelID, v.ThreadID))
}

func (r *redisCheck) strayThread(number int32, user string, e *cache.Entry) {
	if r.beyond(number, e.Stamp) {
		r.count(&r.out.Newer)
		return
	}
	r.threadDiffers(number, user, e.ChannelID, e.ThreadID, "the entry", fmt.Sprintf("there, with unread %d", e.Unread), "none: the user does not follow it")
}

// strayThreads finds threads in Redis of a user that no partition has.
func (r *redisCheck) strayThreads(ctx context.Context, user string) error {
	entries, err := r.reader.Threads(ctx, user)
	if err != nil {
		return err
	}
	for i := range entries {
		if n, ok := r.compares(entries[i].ChannelID); ok && !r.wasVisited(user, n) {
			r.strayThread(n, user, &entries[i])
		}
	}
	return nil
}
