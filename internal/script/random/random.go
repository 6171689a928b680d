// Package random draws chat scripts for property tests, with rapid.
//
// Scripts are small and crowded on purpose: few users, channels and message ids, so that duplicates, unknown ids, reads
// before their messages and equal times come up all the time, and ids of which one begins with another. Every script draws
// its own mix first, so that rare kinds meet each other undiluted by common ones.
package random

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/script"
	"github.com/tidemark/tidemark/projections"
)

const (
	millisecond = 1
	second      = 1000 * millisecond
	minute      = 60 * second
	hour        = 60 * minute
	day         = 24 * hour
)

// Case is a random log and the settings to fold it with.
type Case struct {
	Settings projections.Settings
	Log      script.Log
}

// String is the case as a story of a golden file.
func (c *Case) String() string {
	s := c.Settings
	return fmt.Sprintf("story fanout-limit=%d receipt-limit=%d send-marks-read=%t index-retention=%dms\n%s----",
		s.FanoutLimit, s.ReceiptLimit, s.SendMarksRead, s.IndexRetention, script.FormatLog(&c.Log))
}

// mix is what a script draws once.
type mix struct {
	channels []string
	users    []string
	ids      int     // message ids are m1..m<ids>
	steps    []int64 // between two records of chat.messages
	retained int64
	repeats  int   // one post in so many has any id, else the next
	grow     bool  // ids are in order byte by byte, too
	near     int   // ids are as often among the last so many as among all; 0: all are the same
	threads  int   // one read in so many is in a thread, and one post in half as many is a reply
	longest  []int // of how many records a topic has at most, one is drawn

	messageKinds []events.Kind
	readKinds    []events.Kind
	posted       []*events.Message // so far, all channels; reads refer to their times
}

// Draw draws a case.
func Draw(t *rapid.T) *Case {
	m := drawMix(t)
	c := m.settings(t)
	m.draw(t, c, script.Start)
	if oneIn(t, 4, "with gaps") {
		gaps(t, &c.Log)
	}
	return c
}

// gaps moves offsets apart, as transactions and compaction do.
func gaps(t *rapid.T, l *script.Log) {
	every := rapid.SampledFrom([]int64{0, 1, 7}).Draw(t, "a gap after every")
	if every == 0 {
		return
	}
	for in := range l {
		for i := range l[in] {
			l[in][i].Offset += 2 * (int64(i) / every)
		}
	}
}

func (m *mix) settings(t *rapid.T) *Case {
	return &Case{Settings: projections.Settings{
		FanoutLimit:    rapid.SampledFrom([]uint32{50, 50, 2, 0}).Draw(t, "fanout limit"),
		ReceiptLimit:   rapid.SampledFrom([]uint32{50, 50, 2, 1}).Draw(t, "receipt limit"),
		SendMarksRead:  rapid.SampledFrom([]bool{true, true, true, false}).Draw(t, "send marks read"),
		IndexRetention: m.retained,
	}}
}

// draw appends records of all kinds to what the case has; its messages are from now on.
func (m *mix) draw(t *rapid.T, c *Case, now int64) {
	longest := rapid.SampledFrom(m.longest).Draw(t, "longest")
	for i, e := range rapid.SliceOfN(rapid.Custom(m.message), 0, longest).Draw(t, "messages") {
		now += e.step
		e.event.OccurredAt = max(script.Start, now-e.behind)
		if i == 0 && e.fresh && len(c.Log[events.Messages]) == 0 { // most scripts start with members
			e.event = &events.Message{
				Kind: events.KindMembersJoined, ChannelID: e.event.ChannelID, OccurredAt: e.event.OccurredAt, IDs: m.all(),
			}
		}
		if e.event.Kind == events.KindMessagePosted {
			if e.fresh {
				e.event.MessageID = m.id(len(m.posted) + 1)
			}
			m.posted = append(m.posted, e.event)
		}
		c.Log.Add(script.Record{Input: events.Messages, Timestamp: now, Message: e.event})
	}
	for _, r := range rapid.SliceOfN(rapid.Custom(m.read), 0, longest).Draw(t, "reads") {
		c.Log.Add(script.Record{Input: events.Reads, Timestamp: r.timestamp, Read: r.event})
	}
	few := rapid.SampledFrom([]int{2, longest}).Draw(t, "deliveries at most")
	for _, d := range rapid.SliceOfN(rapid.Custom(m.delivery), 0, few).Draw(t, "deliveries") {
		c.Log.Add(script.Record{Input: events.Deliveries, Timestamp: d.timestamp, Delivery: d.event})
	}
}

func drawMix(t *rapid.T) *mix {
	m := &mix{
		channels: []string{script.DefaultChannel},
		users:    rapid.SampledFrom([][]string{{"a", "b", "u", "v"}, {"a", "ab", "abc", "b"}}).Draw(t, "names")[:rapid.IntRange(2, 4).Draw(t, "users")],
		ids:      rapid.SampledFrom([]int{4, 8, 8, 25}).Draw(t, "ids"),
		retained: rapid.SampledFrom([]int64{90 * day, 90 * day, 10 * day, hour, second}).Draw(t, "index retention"),
		repeats:  rapid.SampledFrom([]int{5, 5, 2}).Draw(t, "repeats"),
		grow:     rapid.Bool().Draw(t, "ids grow"),
		longest:  []int{8, 20, 20, 45},
	}
	m.threads = rapid.SampledFrom([]int{12, 12, 2}).Draw(t, "one in a thread of")
	if oneIn(t, 4, "two channels") {
		m.channels = append(m.channels, rapid.SampledFrom([]string{"d", script.DefaultChannel + "2"}).Draw(t, "the other"))
	}
	m.steps = rapid.SampledFrom([][]int64{
		{0, second},
		{0, millisecond, second, minute},
		{0, second, second, 2 * day, 8 * day},
		{0, second, second, second, hour, day, 4 * day, 7 * day, 8 * day, 91 * day},
	}).Draw(t, "tempo")
	m.messageKinds = kinds(t, map[events.Kind]int{
		events.KindMessagePosted: 24, events.KindMessageEdited: 4, events.KindMessageDeleted: 4, events.KindMessagesPurged: 2,
		events.KindMembersJoined: 4, events.KindMembersLeft: 3, events.KindChannelDeleted: 1,
	}, events.KindMessagePosted)
	m.readKinds = kinds(t, map[events.Kind]int{
		events.KindReadUpTo: 16, events.KindMessagesRead: 6, events.KindMarkedUnread: 12, events.KindChannelMuted: 2,
		events.KindThreadFollowed: 1, events.KindThreadUnfollowed: 1, events.KindUserErased: 2,
	}, events.KindReadUpTo)
	if m.threads < 12 {
		for range 5 {
			m.readKinds = append(m.readKinds, events.KindThreadFollowed, events.KindThreadUnfollowed)
		}
	}
	return m
}

// kinds draws which kinds a script has, each as often as its weight says; always is one of them.
func kinds(t *rapid.T, weights map[events.Kind]int, always events.Kind) []events.Kind {
	var out []events.Kind
	for k := range events.NumKinds {
		w := weights[k]
		if w == 0 || (k != always && oneIn(t, 3, "without kind")) || (k == events.KindChannelDeleted && !oneIn(t, 5, "with deletion")) {
			continue
		}
		for range w {
			out = append(out, k)
		}
	}
	return out
}

// oneIn is true once in n times, and false in the simplest case.
func oneIn(t *rapid.T, n int, label string) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}

func (m *mix) id(n int) []byte {
	if m.grow {
		return fmt.Appendf(nil, "m%03d", n)
	}
	return fmt.Appendf(nil, "m%d", n)
}

func (m *mix) anyID(t *rapid.T) []byte { return m.id(int(m.number(t, 1, m.ids, "id"))) }

// number draws the number of a message.
func (m *mix) number(t *rapid.T, from, to int, label string) uint32 {
	if m.near > 0 && rapid.Bool().Draw(t, "near the head") {
		from = max(from, to-m.near)
	}
	return uint32(rapid.IntRange(from, to).Draw(t, label))
}

// thread is one of few, where there are many replies.
func (m *mix) thread(t *rapid.T) []byte {
	if m.threads < 12 {
		return m.id(rapid.IntRange(1, 2).Draw(t, "thread"))
	}
	return m.anyID(t)
}

func (m *mix) anySeq(t *rapid.T, from uint32) uint32 {
	return m.number(t, int(from), m.ids+2, "seq")
}

func (m *mix) channel(t *rapid.T) []byte {
	return []byte(rapid.SampledFrom(m.channels).Draw(t, "channel"))
}

func (m *mix) user(t *rapid.T) []byte { return []byte(rapid.SampledFrom(m.users).Draw(t, "user")) }

// some are a few users, possibly none, possibly one twice.
func (m *mix) some(t *rapid.T, least int) [][]byte {
	var out [][]byte
	for range rapid.IntRange(least, 2).Draw(t, "how many") {
		out = append(out, m.user(t))
	}
	return out
}

func (m *mix) all() [][]byte {
	var out [][]byte
	for _, u := range m.users {
		out = append(out, []byte(u))
	}
	return out
}

// messageDraw is an event before it has a place in time.
type messageDraw struct {
	event  *events.Message
	fresh  bool // a post of the next id; else of any
	step   int64
	behind int64 // how far the sender's clock is behind; below 0 it is ahead, by 5 minutes at most as the decoder lets it
}

func (m *mix) message(t *rapid.T) messageDraw {
	e := &events.Message{Kind: rapid.SampledFrom(m.messageKinds).Draw(t, "kind"), ChannelID: m.channel(t)}
	d := messageDraw{event: e, step: rapid.SampledFrom(m.steps).Draw(t, "step")}
	if oneIn(t, 5, "late clock") {
		d.behind = rapid.SampledFrom([]int64{millisecond, second, minute, day, 30 * day, -second, -5 * minute}).Draw(t, "behind")
	}
	switch e.Kind {
	case events.KindMessagePosted:
		d.fresh = !oneIn(t, m.repeats, "any id")
		e.MessageID, e.SenderID = m.anyID(t), m.user(t)
		e.Preview = []byte(rapid.SampledFrom([]string{"", "hi", "ho"}).Draw(t, "preview"))
		if e.Silent = oneIn(t, 8, "silent"); e.Silent && oneIn(t, 2, "no sender") {
			e.SenderID = nil
		}
		if oneIn(t, (m.threads+1)/2, "reply") {
			e.ThreadID = m.thread(t)
			e.Broadcast = oneIn(t, 3, "broadcast")
		}
		m.mentions(t, e)
		if oneIn(t, 6, "members stated") {
			e.MemberCount = rapid.SampledFrom([]uint32{1, 2, 50, 51}).Draw(t, "members")
		}
	case events.KindMessageEdited:
		e.MessageID = m.anyID(t)
		e.Preview = []byte(rapid.SampledFrom([]string{"", "hi", "edited"}).Draw(t, "preview"))
		m.mentions(t, e)
		e.KeepMentions = oneIn(t, 4, "keep mentions")
	case events.KindMessageDeleted:
		e.MessageID = m.anyID(t)
		if oneIn(t, 3, "with seq") {
			e.Seq = m.anySeq(t, 1)
		}
	case events.KindMessagesPurged:
		m.purge(t, e)
	case events.KindMembersJoined:
		e.IDs = m.some(t, 1)
		e.CountHistory = oneIn(t, 3, "count history")
	case events.KindMembersLeft:
		e.IDs = m.some(t, 1)
	}
	return d
}

func (m *mix) mentions(t *rapid.T, e *events.Message) {
	if oneIn(t, 3, "mentions") {
		e.IDs = m.some(t, 0)
		e.MentionAll = oneIn(t, 3, "mention all")
	}
}

func (m *mix) purge(t *rapid.T, e *events.Message) {
	e.Target = rapid.SampledFrom([]events.Target{events.TargetMessageID, events.TargetSeq, events.TargetTime}).Draw(t, "target")
	switch e.Target {
	case events.TargetMessageID:
		e.MessageID = m.anyID(t)
	case events.TargetSeq:
		e.Seq = m.anySeq(t, 1)
	case events.TargetTime:
		e.TargetTime = m.time(t)
	}
}
