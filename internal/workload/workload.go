// Package workload makes the events of a small company, for attacks: everything that the fold has a rule for comes up.
package workload

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// epoch is the time of the first event where none is given. Each is 100 ms after the one before it.
var epoch = time.Date(2025, 6, 1, 8, 0, 0, 0, time.UTC)

const step = 100 * time.Millisecond

// Workload makes the events of a small company. They are a function of the seed; how many there are is the caller's.
// send takes them in order and does not wait.
//
// Everything that the fold has a rule for comes up: duplicates, reads of what is not there yet, marks with and without a
// head, stale epochs, late and early clocks, channels that turn large and small again, leaving and coming back, deletions
// of messages and channels, purges, and now and then somebody is erased in a room and goes on there. Who is to disappear
// for good is the caller's to say: Erase, or Dismiss.
type Workload struct {
	partitions int32
	epoch      time.Time
	r          *rand.Rand
	send       func(*kgo.Record)
	rooms      []*room // the busy ones first
	made       int
	busy       int // rooms
	varied     bool
}

type room struct {
	id     string
	people []string // who comes and goes
	posted int
}

// Company says how many rooms there are. Some are busy and some are large for a while. In the quiet ones a value stands
// for long: there it shows when one is lost, or is published again.
type Company struct {
	Partitions int32
	People     int   // in all
	Busy       []int // people in each busy room, who come and go
	Quiet      int   // rooms of two or three people
	// Epoch is the time of the first event; a day in 2025 if zero. Where others write into the same log, by a clock that is
	// right, it must not be long ago: what expires does so by the latest time in the log.
	Epoch time.Time
	// Varied adds more deliveries, of single messages too, reads and marks in threads, private single reads, and messages
	// whose sender says how many members there are. A seed gives other events with it.
	Varied bool
}

// New makes the rooms, and sends their first events.
func New(seed uint64, c Company, send func(*kgo.Record)) *Workload {
	if c.Epoch.IsZero() {
		c.Epoch = epoch
	}
	w := &Workload{partitions: c.Partitions, epoch: c.Epoch, r: rand.New(rand.NewPCG(seed, 1)), send: send, busy: len(c.Busy), varied: c.Varied}
	for i := range len(c.Busy) + c.Quiet {
		n := 2 + i%2
		if i < len(c.Busy) {
			n = c.Busy[i]
		}
		m := &room{id: fmt.Sprintf("room-%d", i)}
		for _, u := range w.r.Perm(c.People)[:n] {
			m.people = append(m.people, fmt.Sprintf("user%d", u))
		}
		w.rooms = append(w.rooms, m)
		w.send(w.timeline(m, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersJoined{
			MembersJoined: &eventsv1.MembersJoined{UserIds: m.people}}}))
	}
	return w
}

// Reseed makes what comes next a function of the seed and of what there is, not of how it came to be.
func (w *Workload) Reseed(seed uint64) { w.r = rand.New(rand.NewPCG(seed, 1)) }

// Write sends n events.
func (w *Workload) Write(n int) {
	for range n {
		w.send(w.next())
	}
}

func (w *Workload) next() *kgo.Record {
	m := w.rooms[w.r.IntN(w.busy)]
	if w.oneIn(5) {
		m = w.rooms[w.r.IntN(len(w.rooms))]
	}
	deliveries := 25
	if w.varied {
		deliveries = 100
	}
	switch k := w.r.IntN(1000); {
	case k < 5:
		return w.garbage(m)
	case k < 580:
		return w.timeline(m, w.messageEvent(m, k))
	case k < 1000-deliveries:
		return w.read(m, w.readEvent(m))
	default:
		return w.delivery(m)
	}
}

func (w *Workload) messageEvent(m *room, k int) *eventsv1.MessageEvent {
	switch {
	case k == 5 && m.posted > 50 && w.oneIn(6):
		return &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_ChannelDeleted{ChannelDeleted: &eventsv1.ChannelDeleted{}}}
	case k < 15:
		return w.purge(m)
	case k < 60:
		e := &eventsv1.MessageDeleted{MessageId: w.message(m)}
		return &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessageDeleted{MessageDeleted: e}}
	case k < 100:
		e := &eventsv1.MessageEdited{MessageId: w.message(m), Preview: "edited", Mentions: w.mentions(m),
			MentionAll: w.oneIn(12), KeepMentions: w.oneIn(3)}
		return &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessageEdited{MessageEdited: e}}
	case k < 145:
		e := &eventsv1.MembersJoined{UserIds: w.some(m, 4), CountHistory: w.oneIn(4)}
		return &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersJoined{MembersJoined: e}}
	case k < 175:
		return &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersLeft{MembersLeft: &eventsv1.MembersLeft{UserIds: w.some(m, 3)}}}
	}
	e := &eventsv1.MessagePosted{SenderId: w.user(m), Preview: fmt.Sprintf("hello %d", w.made), Mentions: w.mentions(m),
		MentionAll: w.oneIn(25), Silent: w.oneIn(12)}
	if w.oneIn(10) {
		e.ThreadId, e.Broadcast = w.message(m), w.oneIn(3)
	}
	if e.MessageId = w.message(m); !w.oneIn(25) { // else it may be a duplicate
		e.MessageId = name(m.posted)
		m.posted++
	}
	if w.varied && w.oneIn(6) {
		e.MemberCount = uint32(1 + w.r.IntN(120)) // on either side of the receipt limit
	}
	return &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessagePosted{MessagePosted: e}}
}

func (w *Workload) purge(m *room) *eventsv1.MessageEvent {
	e := &eventsv1.MessagesPurged{}
	at := w.r.IntN(m.posted/4 + 1)
	switch w.r.IntN(3) {
	case 0:
		e.Target = &eventsv1.MessagesPurged_UpToMessageId{UpToMessageId: name(at)}
	case 1:
		e.Target = &eventsv1.MessagesPurged_UpToSeq{UpToSeq: uint32(at + 1)}
	default:
		e.Target = &eventsv1.MessagesPurged_UpToTime{UpToTime: w.past()}
	}
	return &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessagesPurged{MessagesPurged: e}}
}

func (w *Workload) readEvent(m *room) *eventsv1.ReadEvent {
	e := &eventsv1.ReadEvent{}
	if w.oneIn(400) {
		e.Kind = &eventsv1.ReadEvent_UserErased{UserErased: &eventsv1.UserErased{}}
		return e
	}
	switch k := w.r.IntN(40); {
	case k < 22:
		r := &eventsv1.ReadUpTo{ReadEpoch: w.readEpoch(), Private: w.oneIn(8)}
		switch w.r.IntN(6) {
		case 0:
			r.Target = &eventsv1.ReadUpTo_Seq{Seq: uint32(1 + w.recent(m))}
		case 1:
			r.Target = &eventsv1.ReadUpTo_Time{Time: w.around()}
		default:
			r.Target = &eventsv1.ReadUpTo_MessageId{MessageId: name(w.recent(m))}
		}
		if w.oneIn(20) {
			r.ThreadId = w.message(m)
		}
		if w.varied && r.ThreadId == "" {
			r.ThreadId = w.scope(m)
		}
		e.Kind = &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: r}
	case k < 29:
		r := &eventsv1.MessagesRead{ReadEpoch: w.readEpoch()}
		for range 1 + w.r.IntN(3) {
			r.MessageIds = append(r.MessageIds, name(w.recent(m)))
		}
		if w.varied {
			r.ThreadId, r.Private = w.scope(m), w.oneIn(8)
		}
		e.Kind = &eventsv1.ReadEvent_MessagesRead{MessagesRead: r}
	case k < 36:
		at := w.recent(m)
		r := &eventsv1.MarkedUnread{MessageId: name(at)}
		switch w.r.IntN(3) {
		case 0:
			r.HeadSeq = uint32(1 + at + w.r.IntN(4))
		case 1:
			r.HeadMessageId = name(at + w.r.IntN(4))
		}
		if w.varied {
			r.ThreadId = w.scope(m)
		}
		e.Kind = &eventsv1.ReadEvent_MarkedUnread{MarkedUnread: r}
	case k < 39:
		e.Kind = &eventsv1.ReadEvent_ChannelMuted{ChannelMuted: &eventsv1.ChannelMuted{Muted: w.oneIn(2)}}
	case w.oneIn(3):
		e.Kind = &eventsv1.ReadEvent_ThreadUnfollowed{ThreadUnfollowed: &eventsv1.ThreadUnfollowed{ThreadId: w.message(m)}}
	default:
		e.Kind = &eventsv1.ReadEvent_ThreadFollowed{ThreadFollowed: &eventsv1.ThreadFollowed{ThreadId: w.message(m)}}
	}
	return e
}

// timeline is a record of chat.messages; it fills in what all its events have.
func (w *Workload) timeline(m *room, e *eventsv1.MessageEvent) *kgo.Record {
	e.ChannelId, e.OccurredAt = m.id, w.clock()
	return w.record(events.Messages, m.id, e)
}

func (w *Workload) read(m *room, e *eventsv1.ReadEvent) *kgo.Record {
	e.ChannelId, e.UserId, e.OccurredAt = m.id, w.user(m), w.clock()
	if w.oneIn(3) {
		e.InstanceId = "phone"
	}
	return w.record(events.Reads, m.id, e)
}

func (w *Workload) delivery(m *room) *kgo.Record {
	e := &eventsv1.DeliveryEvent{ChannelId: m.id, UserId: w.user(m), OccurredAt: w.clock()}
	if w.oneIn(2) {
		e.Kind = &eventsv1.DeliveryEvent_Queued{Queued: &eventsv1.Queued{MessageId: name(w.recent(m))}}
		return w.record(events.Deliveries, m.id, e)
	}
	d := &eventsv1.Delivered{Target: &eventsv1.Delivered_UpToMessageId{UpToMessageId: name(w.recent(m))}}
	if w.varied && w.oneIn(2) {
		d = &eventsv1.Delivered{Target: &eventsv1.Delivered_MessageId{MessageId: name(w.recent(m))}, DeviceId: "phone"}
	}
	e.Kind = &eventsv1.DeliveryEvent_Delivered{Delivered: d}
	return w.record(events.Deliveries, m.id, e)
}

// scope is the channel, now and then a thread of it: one that may be, named by one of a few roots.
func (w *Workload) scope(m *room) string {
	if !w.oneIn(5) {
		return ""
	}
	return name(w.r.IntN(min(m.posted, 40) + 1))
}

// garbage is a record that must become a dead letter.
func (w *Workload) garbage(m *room) *kgo.Record {
	in := events.Input(w.r.IntN(events.NumInputs))
	r := w.record(in, m.id, &eventsv1.MessageEvent{ChannelId: m.id}) // no kind in any of the three
	switch w.r.IntN(5) {
	case 0:
		r.Value = fmt.Appendf(nil, "\xff\xff\xff not protobuf %d", w.made)
	case 1:
		r.Value = fmt.Appendf(nil, `{"channel_id": "%s", "message_posted": %d`, m.id, w.made)
	case 2:
		r.Value = nil
	case 3: // keyed by something else
		r = w.timeline(m, w.messageEvent(m, 500))
		r.Key = fmt.Appendf(nil, "wrong-%d", w.made)
		r.Partition = (r.Partition + 1) % w.partitions
	}
	return r
}

func (w *Workload) record(in events.Input, channel string, e proto.Message) *kgo.Record {
	value, err := proto.Marshal(e)
	if w.oneIn(4) {
		value, err = protojson.Marshal(e)
	}
	if err != nil {
		panic(err) // of an event that was made here
	}
	w.made++
	return &kgo.Record{Topic: in.String(), Partition: events.PartitionOf([]byte(channel), w.partitions), Key: []byte(channel),
		Value: value, Timestamp: w.Now()}
}

// Now is the time of the next event.
func (w *Workload) Now() time.Time { return w.epoch.Add(time.Duration(w.made) * step) }

// clock is what a producer's clock says: nothing, the time, a little or much less, or far too much, which is replaced.
func (w *Workload) clock() *timestamppb.Timestamp {
	switch w.r.IntN(8) {
	case 0, 1, 2:
		return nil
	case 3:
		return timestamppb.New(w.Now().Add(-time.Duration(w.r.IntN(5000)) * time.Millisecond))
	case 4:
		return timestamppb.New(w.Now().Add(time.Duration(w.r.IntN(600)) * time.Second))
	}
	return timestamppb.New(w.Now())
}

// around is a time to read up to, a little before now or after.
func (w *Workload) around() *timestamppb.Timestamp {
	return timestamppb.New(w.Now().Add(time.Duration(w.r.IntN(60)-50) * time.Second))
}

func (w *Workload) past() *timestamppb.Timestamp {
	return timestamppb.New(w.epoch.Add(time.Duration(w.r.IntN(w.made/4+1)) * step))
}

// stranger is somebody who is of no room, and comes up in all of them.
const stranger = "stranger"

func (w *Workload) oneIn(n int) bool { return w.r.IntN(n) == 0 }

func (w *Workload) user(m *room) string {
	if w.oneIn(40) || len(m.people) == 0 {
		return stranger
	}
	return m.people[w.r.IntN(len(m.people))]
}

// some are up to n people of the room; in a large one more, so that it turns small and large again.
func (w *Workload) some(m *room, n int) []string {
	n = 1 + w.r.IntN(max(n, len(m.people)*2/3))
	var out []string
	for range n {
		if len(m.people) > 0 {
			out = append(out, m.people[w.r.IntN(len(m.people))])
		} else {
			out = append(out, stranger)
		}
	}
	return out
}

func (w *Workload) mentions(m *room) []string {
	if !w.oneIn(5) {
		return nil
	}
	return []string{w.user(m)}
}

func (w *Workload) readEpoch() uint32 {
	if !w.oneIn(4) {
		return 0
	}
	return uint32(1 + w.r.IntN(20))
}

// recent is a message that is not long ago, now and then one that is not there yet.
func (w *Workload) recent(m *room) int { return max(0, m.posted+2-w.r.IntN(20)) }

// message is any message.
func (w *Workload) message(m *room) string { return name(w.r.IntN(m.posted + 2)) }

func name(message int) string { return fmt.Sprintf("m%d", message) }
