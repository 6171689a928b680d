package importer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
)

const (
	epoch = int64(1_700_000_000_000)
	hour  = int64(60 * 60 * 1000)
	day   = 24 * hour
)

// log decodes records and adds them to a model, as a partition would.
type log struct {
	m     *model.Model
	d     events.Decoder
	next  [events.NumInputs]int64
	fatal func(format string, args ...any)
}

func newLog(fatal func(string, ...any)) *log {
	return &log{m: model.New(projections.DefaultSettings()), fatal: fatal}
}

func (l *log) write(_ []byte, in events.Input, _ string, value []byte, millis int64) error {
	offset := l.next[in]
	l.next[in]++
	switch in {
	case events.Messages:
		var e events.Message
		if err := l.d.Message(value, millis, &e); err != nil {
			l.fatal("chat.messages/%d: %v", offset, err)
		}
		l.m.AddMessage(&e, offset, millis)
	case events.Reads:
		var e events.Read
		if err := l.d.Read(value, millis, &e); err != nil {
			l.fatal("chat.reads/%d: %v", offset, err)
		}
		l.m.AddRead(&e, offset, millis)
	}
	return nil
}

// history is a history of a chat product, with the rows that the product stores of it.
type history struct {
	log      *log
	now      int64
	posts    []*Event
	members  []*Event
	rest     []*Event
	seqs     map[string][]*Event // messages of a channel
	in       map[string]*Event   // current memberships, by channel and user
	spoke    map[string]bool     // users who have read or marked, by channel, user and thread
	worded   map[string]bool     // users who have followed or unfollowed explicitly
	pointers int                 // how pointers name messages: 0 by id, 1 by seq, 2 by time
}

var (
	people   = []string{"ann", "bob", "cem", "dee"}
	channels = []string{"c1", "c2", "direct"}
)

func (h *history) message(e *eventsv1.MessageEvent, channel string) {
	e.ChannelId, e.OccurredAt = channel, timestamp(h.now)
	h.emit(events.Messages, e)
}

func (h *history) read(e *eventsv1.ReadEvent, channel, user string) {
	e.ChannelId, e.UserId, e.OccurredAt = channel, user, timestamp(h.now)
	h.emit(events.Reads, e)
}

func (h *history) emit(in events.Input, e proto.Message) {
	value, err := marshal(e)
	if err != nil {
		h.log.fatal("%v", err)
	}
	_ = h.log.write(nil, in, "", value, h.now)
}

// drawHistory draws a history. With rejoin, users may join again after leaving.
func drawHistory(t *rapid.T, rejoin bool) *history {
	h := &history{
		log: newLog(t.Fatalf), now: epoch, seqs: map[string][]*Event{}, in: map[string]*Event{}, spoke: map[string]bool{}, worded: map[string]bool{},
		pointers: rapid.IntRange(0, 2).Draw(t, "pointers by"),
	}
	was := map[string]bool{}
	step := rapid.SampledFrom([]int64{1, hour, day, 5 * day}).Draw(t, "step")
	for range rapid.IntRange(1, 60).Draw(t, "events") {
		h.now += 1 + rapid.Int64Range(0, step).Draw(t, "later")
		c, u := rapid.SampledFrom(channels).Draw(t, "channel"), rapid.SampledFrom(people).Draw(t, "user")
		posts := h.seqs[c]
		if m := h.in[c+u]; m == nil {
			if was[c+u] && !rejoin {
				continue
			}
			was[c+u] = true
			m = &Event{Kind: KindMember, Channel: c, User: u, At: h.now}
			h.in[c+u], h.members = m, append(h.members, m)
			h.message(&eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersJoined{
				MembersJoined: &eventsv1.MembersJoined{UserIds: []string{u}, CountHistory: c == "direct"}}}, c)
			continue
		}
		what := rapid.IntRange(0, 11).Draw(t, "what")
		if len(posts) == 0 {
			what = 0
		}
		switch what {
		case 0, 1, 2, 3, 4:
			h.post(t, c, u)
		case 5:
			m := h.in[c+u]
			m.Until = h.now
			delete(h.in, c+u)
			h.message(&eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersLeft{MembersLeft: &eventsv1.MembersLeft{UserIds: []string{u}}}}, c)
		case 6:
			if x := rapid.SampledFrom(posts).Draw(t, "deleted"); x.Until == 0 {
				x.Until = h.now
				h.message(&eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessageDeleted{
					MessageDeleted: &eventsv1.MessageDeleted{MessageId: x.ID, Seq: x.Seq}}}, c)
			}
		case 7, 8, 9:
			h.reads(t, c, u, what == 9)
		case 10:
			h.follows(t, c, u)
		case 11:
			h.rest = append(h.rest, &Event{Kind: KindMute, Channel: c, User: u, At: h.now})
			h.read(&eventsv1.ReadEvent{Kind: &eventsv1.ReadEvent_ChannelMuted{ChannelMuted: &eventsv1.ChannelMuted{Muted: true}}}, c, u)
		}
	}
	return h
}

// thread draws the root of a thread, or "".
func (h *history) thread(t *rapid.T, c string) string {
	roots := []string{"", ""}
	for _, x := range h.seqs[c] {
		if x.Thread == "" && len(roots) < 4 {
			roots = append(roots, x.ID)
		}
	}
	return rapid.SampledFrom(roots).Draw(t, "thread")
}

func (h *history) post(t *rapid.T, c, u string) {
	e := &Event{Kind: KindPost, Channel: c, User: u, At: h.now, ID: fmt.Sprintf("m%d", len(h.posts)), Thread: h.thread(t, c), Seq: uint32(len(h.seqs[c]) + 1)}
	e.Broadcast = e.Thread != "" && rapid.IntRange(0, 4).Draw(t, "broadcast") == 0
	e.Silent = rapid.IntRange(0, 6).Draw(t, "silent") == 0
	for _, m := range people {
		if m != u && h.in[c+m] != nil && rapid.IntRange(0, 5).Draw(t, "mention") == 0 {
			e.Mentions = append(e.Mentions, m)
		}
	}
	e.MentionAll = rapid.IntRange(0, 6).Draw(t, "mention all") == 0
	h.posts, h.seqs[c] = append(h.posts, e), append(h.seqs[c], e)
	h.message(&eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessagePosted{MessagePosted: &eventsv1.MessagePosted{
		MessageId: e.ID, SenderId: u, ThreadId: e.Thread, Broadcast: e.Broadcast, Silent: e.Silent, Mentions: e.Mentions, MentionAll: e.MentionAll,
	}}}, c)
}

func (h *history) reads(t *rapid.T, c, u string, mark bool) {
	x, thread := rapid.SampledFrom(h.seqs[c]).Draw(t, "message"), h.thread(t, c)
	h.spoke[c+u+thread] = true
	if mark {
		h.read(&eventsv1.ReadEvent{Kind: &eventsv1.ReadEvent_MarkedUnread{MarkedUnread: &eventsv1.MarkedUnread{
			MessageId: x.ID, Seq: x.Seq, ThreadId: thread, HeadSeq: uint32(len(h.seqs[c])),
		}}}, c, u)
		return
	}
	h.read(&eventsv1.ReadEvent{Kind: &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{
		Target: &eventsv1.ReadUpTo_Seq{Seq: x.Seq}, ThreadId: thread,
	}}}, c, u)
}

func (h *history) follows(t *rapid.T, c, u string) {
	thread := h.thread(t, c)
	if thread == "" || h.worded[c+u+thread] {
		return
	}
	h.worded[c+u+thread] = true
	e := &Event{Kind: KindFollow, Channel: c, User: u, Thread: thread, At: h.now}
	x := &eventsv1.ReadEvent{Kind: &eventsv1.ReadEvent_ThreadFollowed{ThreadFollowed: &eventsv1.ThreadFollowed{ThreadId: thread}}}
	if rapid.Bool().Draw(t, "unfollow") {
		e.Kind = KindUnfollow
		x.Kind = &eventsv1.ReadEvent_ThreadUnfollowed{ThreadUnfollowed: &eventsv1.ThreadUnfollowed{ThreadId: thread}}
	}
	h.rest = append(h.rest, e)
	h.read(x, c, u)
}

// pointer returns the row of a pointer, as a product would store it; false if it has none.
func (h *history) pointer(c, u, thread string, last projections.Ref) (*Event, bool) {
	if !h.spoke[c+u+thread] {
		return nil, false // the product moves it with the user's own messages
	}
	e := &Event{Kind: KindPointer, Channel: c, User: u, Thread: thread, Until: h.now}
	switch posts := h.seqs[c]; {
	case last.Seq == 0:
		e.At = epoch
	case h.pointers == 0:
		e.ID = posts[last.Seq-1].ID
	case h.pointers == 1:
		e.Seq = last.Seq
	default:
		e.At = posts[last.Seq-1].At
	}
	return e, true
}

// Events emits the rows of the product.
func (h *history) Events(_ context.Context, _ *Problems, emit func(Origin, *Event) error) error {
	all := []*Event{}
	for _, c := range channels {
		all = append(all, &Event{Kind: KindChannel, Channel: c, Direct: c == "direct"})
		for _, u := range people {
			v, _ := h.log.m.View(u, c)
			if e, ok := h.pointer(c, u, "", v.LastRead); ok {
				all = append(all, e)
			}
			for _, x := range h.seqs[c] {
				v, _ := h.log.m.Thread(u, c, x.ID)
				if e, ok := h.pointer(c, u, x.ID, v.LastRead); ok {
					all = append(all, e)
				}
			}
		}
	}
	all = append(append(all, h.members...), h.rest...)
	all = append(all, h.posts...)
	rows := map[Kind]int64{}
	for _, e := range all {
		rows[e.Kind]++
		x := *e
		if e.Kind == KindPost {
			x.Seq = 0
		}
		x.Mentions = slices.Clone(x.Mentions)
		if err := emit(Origin{fmt.Sprint("kind", e.Kind), rows[e.Kind]}, &x); err != nil {
			return err
		}
	}
	return nil
}

// imported imports the rows and returns the model of the written records.
func (h *history) imported(t *rapid.T, cut int64, memory int) (*log, *Problems) {
	l, problems := newLog(t.Fatalf), &Problems{}
	p := newPlan("", cut, h.now+1, problems)
	defer p.close()
	for _, s := range []*sorter{p.events, p.names, p.before, p.pointers, p.reads} {
		s.limit = memory
	}
	p.sink = &inOrder{log: l, t: t}
	if err := p.run(context.Background(), &Config{Progress: func(Progress) {}}, h, nil); err != nil {
		t.Fatal(err)
	}
	return l, problems
}

// inOrder fails unless the keys of a pass ascend.
type inOrder struct {
	*log
	t    *rapid.T
	last [events.NumInputs][]byte
}

func (o *inOrder) write(key []byte, in events.Input, channel string, value []byte, millis int64) error {
	if slices.Compare(key, o.last[in]) <= 0 {
		o.t.Fatalf("%s: %x is written behind %x", in, key, o.last[in])
	}
	o.last[in] = append(o.last[in][:0], key...)
	return o.log.write(key, in, channel, value, millis)
}

// An import of the rows of random histories gives the counts that the model has of the histories
// themselves.
func TestNumbersAreThoseOfTheHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t, true)
		got, problems := h.imported(t, 0, rapid.SampledFrom([]int{1, 500, runBytes}).Draw(t, "memory"))
		h.same(t, got.m, 0)
		if list := problems.List(); len(list) > 0 {
			t.Fatalf("not mapped: %+v", list)
		}
	})
}

// The messages before a cut are imported as a count. Everything is equal except mentions before the
// cut.
func TestNumbersWithACutAreThoseOfTheHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t, false)
		cut := epoch + rapid.Int64Range(0, h.now-epoch+1).Draw(t, "cut")
		got, _ := h.imported(t, cut, rapid.SampledFrom([]int{1, 500, runBytes}).Draw(t, "memory"))
		h.same(t, got.m, cut)
	})
}

// same compares the counts of an import with those of the history.
func (h *history) same(t *rapid.T, got *model.Model, cut int64) {
	for _, c := range channels {
		for _, u := range people {
			want, _ := h.log.m.View(u, c)
			v, _ := got.View(u, c)
			if v.Member != want.Member || v.Unread != want.Unread || v.Muted != want.Muted {
				t.Fatalf("%s in %s: member %v, unread %d, muted %v; want %v, %d, %v", u, c, v.Member, v.Unread, v.Muted, want.Member, want.Unread, want.Muted)
			}
			if n := want.FirstUnread.Seq; (n == 0 || h.seqs[c][n-1].At >= cut) && v.Mentions != want.Mentions {
				t.Fatalf("%s in %s: %d mentions, want %d", u, c, v.Mentions, want.Mentions)
			}
			for _, x := range h.seqs[c] {
				h.sameThread(t, got, u, c, x.ID, cut)
			}
		}
	}
}

func (h *history) sameThread(t *rapid.T, got *model.Model, u, c, id string, cut int64) {
	newest := int64(0)
	for _, x := range h.seqs[c] {
		if x.Thread == id {
			newest = max(newest, x.At)
		}
	}
	if newest < cut-threadListed && !slices.ContainsFunc(people, func(p string) bool { return h.worded[c+p+id] || h.spoke[c+p+id] }) {
		return // no user lists it
	}
	want, _ := h.log.m.Thread(u, c, id)
	v, _ := got.Thread(u, c, id)
	if cmp.Or(cmp.Compare(v.Unread, want.Unread), cmp.Compare(v.Mentions, want.Mentions)) != 0 || v.Following != want.Following {
		t.Fatalf("%s in the thread %s of %s: following %v, %d unread, %d mentions; want %v, %d, %d", u, id, c,
			v.Following, v.Unread, v.Mentions, want.Following, want.Unread, want.Mentions)
	}
}
