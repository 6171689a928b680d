package answer

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/queryv1"
)

// Threads makes the answers for a page of threads. It allocates messages in batches: 1,000 threads
// have 5,000. The zero Threads allocates each one alone.
type Threads struct {
	batch   int
	threads []queryv1.ThreadUnread
	latest  []queryv1.Latest
	refs    []queryv1.MessageRef
	reads   []queryv1.LastRead
	times   []timestamppb.Timestamp
}

// NewThreads returns a Threads for this many threads.
func NewThreads(n int) *Threads { return &Threads{batch: min(n, 64)} }

// next returns the next message of a batch.
func next[T any](list *[]T, batch int) *T {
	if len(*list) == 0 {
		*list = make([]T, max(batch, 1))
	}
	x := &(*list)[0]
	*list = (*list)[1:]
	return x
}

// Thread returns a user's view of a thread at a time, in Unix milliseconds; s is the standing of
// its channel. The thread counts as followed once it has a reply.
func Thread(v *projections.ThreadView, s *projections.Standing, now int64) *queryv1.ThreadUnread {
	return new(Threads).Thread(v, s, now)
}

// ThreadKey returns the position of a thread in the order.
func ThreadKey(t *queryv1.ThreadUnread) paging.Key {
	k := threadTime(t)
	k.ID = paging.ThreadID(t.ChannelId, t.ThreadId)
	return k
}

// threadTime returns ThreadKey without the ids, which only ties need.
func threadTime(t *queryv1.ThreadUnread) paging.Key {
	k := paging.Key{Unread: t.Unread > 0}
	if t.LastReply != nil {
		k.At = t.LastReply.At.AsTime().UnixMilli()
	}
	return k
}

// CompareThreads compares the keys of two threads.
func CompareThreads(a, b *queryv1.ThreadUnread) int {
	if c := threadTime(a).Compare(threadTime(b)); c != 0 {
		return c
	}
	return ThreadKey(a).Compare(ThreadKey(b))
}

// Thread is the package's Thread.
func (a *Threads) Thread(v *projections.ThreadView, s *projections.Standing, now int64) *queryv1.ThreadUnread {
	levels := s.Levels.At(now)
	t := next(&a.threads, a.batch)
	t.ChannelId, t.ThreadId, t.Unread, t.Mentions, t.ReadEpoch = v.ChannelID, v.ThreadID, v.Unread, v.Mentions, v.ReadEpoch
	t.Following = v.Following && v.LastReply.Seq > 0
	t.FirstUnread, t.DirectMentions, t.FirstMention = a.ref(v.FirstUnread), v.DirectMentions, a.ref(v.FirstMention)
	t.Muted, t.Level, t.LevelAfter = levels.Level == events.LevelNone, Level(levels.Level), Level(levels.After)
	t.Archived = s.Archived
	if levels.Until != 0 {
		t.Until = a.time(levels.Until)
	}
	if h := &v.LastReply; h.Seq != 0 {
		t.LastReply = next(&a.latest, a.batch)
		t.LastReply.MessageId, t.LastReply.Seq, t.LastReply.At = h.MessageID, h.Seq, a.time(h.At)
		t.LastReply.SenderId, t.LastReply.Preview = h.SenderID, h.Preview
	}
	if v.LastRead.Seq > 0 {
		t.LastRead = next(&a.reads, a.batch)
		t.LastRead.MessageId, t.LastRead.Seq = v.LastRead.MessageID, v.LastRead.Seq
		if v.LastReadAt != 0 { // otherwise a read of the channel with its threads put it there
			t.LastRead.At = a.time(v.LastReadAt)
		}
	}
	return t
}

// ref is the package's ref.
func (a *Threads) ref(r projections.Ref) *queryv1.MessageRef {
	if r == (projections.Ref{}) {
		return nil
	}
	m := next(&a.refs, a.batch)
	m.MessageId, m.Seq = r.MessageID, r.Seq
	return m
}

// time is Timestamp.
func (a *Threads) time(ms int64) *timestamppb.Timestamp {
	t, of := next(&a.times, a.batch), time.UnixMilli(ms)
	t.Seconds, t.Nanos = of.Unix(), int32(of.Nanosecond())
	return t
}
