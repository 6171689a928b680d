package random

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
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
	Seed     uint64 // rapid's, which draws it first; set by Scripts
}

// String returns the case as a story of a golden file.
func (c *Case) String() string {
	s := c.Settings
	return fmt.Sprintf("story fanout-limit=%d receipt-limit=%d send-marks-read=%t index-retention=%dms trim-log=%t\n%s----",
		s.FanoutLimit, s.ReceiptLimit, s.SendMarksRead, s.IndexRetention, s.TrimLog, script.FormatLog(&c.Log))
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

// draw appends records of all kinds to the case. Its messages have times from now on.
func (m *mix) draw(t *rapid.T, c *Case, now int64) {
	longest := rapid.SampledFrom(m.longest).Draw(t, "longest")
	if m.seeded > 0 && len(c.Log[events.Messages]) == 0 {
		c.Log.Add(script.Record{Input: events.Messages, Timestamp: now, Message: m.seed(now)})
	}
	for i, e := range rapid.SliceOfN(rapid.Custom(m.message), m.least, max(m.least, longest)).Draw(t, "messages") {
		now += e.step
		e.event.OccurredAt = max(script.Start, now-e.behind)
		if i == 0 && e.fresh && len(c.Log[events.Messages]) <= 1 { // so that most scripts start with members
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
	m.drawOthers(t, c, longest)
	if m.least > 0 && oneIn(t, 2, "and late ones") {
		m.passed(t, c, now)
		m.drawOthers(t, c, longest)
	}
}

// drawOthers appends records of chat.reads and chat.deliveries.
func (m *mix) drawOthers(t *rapid.T, c *Case, longest int) {
	for _, r := range rapid.SliceOfN(rapid.Custom(m.read), 0, longest).Draw(t, "reads") {
		c.Log.Add(script.Record{Input: events.Reads, Timestamp: r.timestamp, Read: r.event})
	}
	few := longest
	if !m.carried {
		few = rapid.SampledFrom([]int{2, longest}).Draw(t, "deliveries at most")
	}
	for _, d := range rapid.SliceOfN(rapid.Custom(m.delivery), 0, few).Draw(t, "deliveries") {
		c.Log.Add(script.Record{Input: events.Deliveries, Timestamp: d.timestamp, Delivery: d.event})
	}
}

// passed moves the log times of chat.reads and chat.deliveries to a time.
func (m *mix) passed(t *rapid.T, c *Case, now int64) {
	c.Log.Add(script.Record{Input: events.Reads, Timestamp: now, Read: &events.Read{
		Kind: events.KindChannelMuted, ChannelID: m.channel(t), UserID: m.user(t), OccurredAt: now,
	}})
	c.Log.Add(script.Record{Input: events.Deliveries, Timestamp: now, Delivery: &events.Delivery{
		Kind: events.KindDelivered, ChannelID: m.channel(t), UserID: m.user(t), MessageID: m.anyID(t), OccurredAt: now,
	}})
}

// seed returns the messages_seeded of the first channel.
func (m *mix) seed(at int64) *events.Message {
	return &events.Message{
		Kind: events.KindMessagesSeeded, ChannelID: []byte(m.channels[0]), OccurredAt: at, Count: uint32(m.seeded),
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
	if oneIn(t, 3, "seeded") { // around the length of a log block, and few enough for the naive model
		m.seeded = rapid.SampledFrom([]int{1, 2, 5, 15, 16, 17, 33}).Draw(t, "messages seeded")
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
		events.KindMessagesSeeded: 1,
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

// kinds draws the kinds of events that a script has, each as often as its weight. always is one of
// them.
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
