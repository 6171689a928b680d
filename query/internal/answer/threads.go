package answer

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/queryv1"
)

// Threads makes the answers of a page of threads. Their messages are made many at a time: 1,000
// threads have 5,000. The zero Threads makes each on its own.
type Threads struct {
	batch   int
	threads []queryv1.ThreadUnread
	latest  []queryv1.Latest
	refs    []queryv1.MessageRef
	reads   []queryv1.LastRead
	times   []timestamppb.Timestamp
}

// NewThreads makes answers of so many threads.
func NewThreads(n int) *Threads { return &Threads{batch: min(n, 64)} }

// next is a message of a batch.
func next[T any](list *[]T, batch int) *T {
	if len(*list) == 0 {
		*list = make([]T, max(batch, 1))
	}
	x := &(*list)[0]
	*list = (*list)[1:]
	return x
}

// Thread is what a user sees of a thread at a time, in Unix milliseconds; s is what was said of its
// channel. The thread counts as followed once it has a reply.
func Thread(v *projections.ThreadView, s *projections.Standing, now int64) *queryv1.ThreadUnread {
	return new(Threads).Thread(v, s, now)
}

// ThreadKey is where a thread stands in the order.
func ThreadKey(t *queryv1.ThreadUnread) paging.Key {
	k := threadTime(t)
	k.ID = paging.ThreadID(t.ChannelId, t.ThreadId)
	return k
}

// threadTime is ThreadKey without the ids, which only ties need.
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

// Thread is the Thread of the package.
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
		if v.LastReadAt != 0 { // else a read of the channel with its threads put it there
			t.LastRead.At = a.time(v.LastReadAt)
		}
	}
	return t
}

// ref is the ref of the package.
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
