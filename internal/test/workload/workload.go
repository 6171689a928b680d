package workload

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/internal/traffic"
)

// epoch is the default time of the first event.
var epoch = time.Date(2025, 6, 1, 8, 0, 0, 0, time.UTC)

// Workload makes the events of a small company. They are a function of the seed; the caller chooses
// their number. send takes them in order and does not wait.
//
// Every rule of the fold applies to some of them: duplicates, reads of later messages, marks with
// and without a head, stale epochs, late and early clocks, channels that become large and small
// again, users who leave and come back, deletions of messages and channels, purges, and now and
// then the erasure of a user in a room where they then continue. The caller removes users for good
// with Erase or Dismiss.
type Workload struct {
	partitions int32
	epoch      time.Time
	step       time.Duration // between two events
	r          *rand.Rand
	send       func(*kgo.Record)
	channels   []*channel // the busy ones first
	made       int
	busy       int // number of rooms
	varied     bool
	parts      Parts
}

type channel struct {
	id     string
	people []string // people who come and go
	posted int
}

// Company is the size of a company. Some rooms are busy and some are large for a while. In the
// quiet ones values rarely change, so a lost or repeated value shows there.
type Company struct {
	Partitions int32
	People     int   // in all
	Busy       []int // people in each busy room
	Quiet      int   // rooms of two or three people
	// Epoch is the time of the first event; a day in 2025 if zero. If others write to the same log
	// with the real time, it must be recent: events expire by the latest time in the log.
	Epoch time.Time
	Step  time.Duration // between two events; 100 ms if zero
	// Varied adds deliveries (also of single messages), reads and marks in threads, private single
	// reads, and messages with a member count. It changes the events of a seed.
	Varied bool
	// Parts adds parts of DESIGN §4.7. It changes the events of a seed.
	Parts []random.Part
}

// New creates the rooms and sends their first events.
func New(seed uint64, c Company, send func(*kgo.Record)) *Workload {
	if c.Epoch.IsZero() {
		c.Epoch = epoch
	}
	if c.Step == 0 {
		c.Step = 100 * time.Millisecond
	}
	w := &Workload{partitions: c.Partitions, epoch: c.Epoch, step: c.Step, r: rand.New(rand.NewPCG(seed, 1)), send: send, busy: len(c.Busy), varied: c.Varied, parts: NewParts(c.Parts)}
	for i := range len(c.Busy) + c.Quiet {
		n := 2 + i%2
		if i < len(c.Busy) {
			n = c.Busy[i]
		}
		m := &channel{id: fmt.Sprintf("room-%d", i)}
		for _, u := range w.r.Perm(c.People)[:n] {
			m.people = append(m.people, fmt.Sprintf("user%d", u))
		}
		w.channels = append(w.channels, m)
		w.send(w.timeline(m, &eventsv1.MembersJoined{UserIds: m.people}))
	}
	return w
}

// Reseed makes the next events a function of the seed and of the current state, and independent of
// its history.
func (w *Workload) Reseed(seed uint64) { w.r = rand.New(rand.NewPCG(seed, 1)) }

// Write sends n events.
func (w *Workload) Write(n int) {
	for range n {
		w.send(w.next())
	}
}

func (w *Workload) next() *kgo.Record {
	m := w.channels[w.r.IntN(w.busy)]
	if w.oneIn(5) {
		m = w.channels[w.r.IntN(len(w.channels))]
	}
	deliveries := 25
	if w.varied {
		deliveries = 100
	}
	if !w.parts.Nothing() && w.oneIn(6) {
		if r := w.addSettings(m); r != nil {
			return r
		}
	}
	switch k := w.r.IntN(1000); {
	case k < 5:
		return w.garbage(m)
	case k < 580:
		return w.timeline(m, w.messageBody(m, k))
	case k < 1000-deliveries:
		return w.read(m, w.readBody(m))
	default:
		return w.delivery(m)
	}
}

// addSettings returns a record of one of the Parts; nil if no part has events of its own.
func (w *Workload) addSettings(m *channel) *kgo.Record {
	switch body := w.parts.Body(w.r, m.posted, w.Now()).(type) {
	case nil:
		return nil
	case *eventsv1.ChannelUpdated:
		return w.timeline(m, body)
	default:
		return w.read(m, body)
	}
}

// timeline returns a record of chat.messages.
func (w *Workload) timeline(m *channel, body proto.Message) *kgo.Record {
	e := traffic.Message(m.id, body)
	e.OccurredAt = w.clock()
	return w.record(events.Messages, m.id, e)
}

// read returns a record of chat.reads.
func (w *Workload) read(m *channel, body proto.Message) *kgo.Record {
	e := traffic.Read(m.id, w.user(m), body)
	e.OccurredAt = w.clock()
	if w.oneIn(3) {
		e.InstanceId = "phone"
	}
	return w.record(events.Reads, m.id, e)
}

// delivery returns a record of chat.deliveries.
func (w *Workload) delivery(m *channel) *kgo.Record {
	user, at := w.user(m), w.clock()
	e := traffic.Delivery(m.id, user, w.deliveryBody(m))
	e.OccurredAt = at
	return w.record(events.Deliveries, m.id, e)
}

// garbage returns a record that must become a dead letter.
func (w *Workload) garbage(m *channel) *kgo.Record {
	in := events.Input(w.r.IntN(events.NumInputs))
	r := w.record(in, m.id, &eventsv1.MessageEvent{ChannelId: m.id}) // no kind in any of the three
	switch w.r.IntN(5) {
	case 0:
		r.Value = fmt.Appendf(nil, "\xff\xff\xff not protobuf %d", w.made)
	case 1:
		r.Value = fmt.Appendf(nil, `{"channel_id": "%s", "message_posted": %d`, m.id, w.made)
	case 2:
		r.Value = nil
	case 3: // with another key
		r = w.timeline(m, w.messageBody(m, 500))
		r.Key = fmt.Appendf(nil, "wrong-%d", w.made)
		r.Partition = (r.Partition + 1) % w.partitions
	}
	return r
}

func (w *Workload) record(in events.Input, channel string, e proto.Message) *kgo.Record {
	events.StateVersion(e)
	value, err := proto.Marshal(e)
	if w.oneIn(4) {
		value, err = protojson.Marshal(e)
	}
	if err != nil {
		panic(err) // the event was made here
	}
	w.made++
	return &kgo.Record{Topic: in.String(), Partition: events.PartitionOf([]byte(channel), w.partitions), Key: []byte(channel),
		Value: value, Timestamp: w.Now()}
}
