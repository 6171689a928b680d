package projections

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/pending"
)

// randomLog is a partition's log for tests. It has few users, channels and ids, so that duplicates,
// unknown ids, waiting reads and ties are common. Its times stand still, run backwards and jump
// past the 7 and the 90 days.
type randomLog struct {
	rng      *rand.Rand
	messages []logRecord
	reads    []logRecord
	n        int // number of ids
}

type logRecord struct {
	message   *events.Message
	read      *events.Read
	timestamp int64
}

var (
	logChannels = []string{"c", "d"}
	logUsers    = []string{"a", "b", "u", "v"}
)

func newRandomLog(seed int64) *randomLog {
	l := &randomLog{rng: rand.New(rand.NewSource(seed))}
	l.n = 5 + l.rng.Intn(25)
	now := int64(1000)
	for i := range l.n {
		now += l.jump()
		l.messages = append(l.messages, logRecord{message: l.message(i, now), timestamp: now})
	}
	for i, reads := 0, 5+l.rng.Intn(25); i < reads; i++ {
		t := l.messages[i*l.n/reads].timestamp + l.rng.Int63n(7) - 3
		if l.rng.Intn(10) == 0 {
			t = l.someTime()
		}
		l.reads = append(l.reads, logRecord{read: l.read(t), timestamp: t + l.rng.Int63n(3)})
	}
	return l
}

func (l *randomLog) jump() int64 {
	switch l.rng.Intn(56) {
	case 0, 1, 2, 3:
		return pending.LapseAfter/2 + l.rng.Int63n(pending.LapseAfter)
	case 4:
		return 91 * 24 * 3600 * 1000
	}
	return max(0, l.rng.Int63n(8)-3)
}

func (l *randomLog) channel() []byte { return []byte(logChannels[l.rng.Intn(2)*l.rng.Intn(2)]) }
func (l *randomLog) user() []byte    { return []byte(logUsers[l.rng.Intn(len(logUsers))]) }
func (l *randomLog) id() []byte      { return []byte(fmt.Sprintf("m%d", l.rng.Intn(l.n))) }
func (l *randomLog) someTime() int64 { return l.messages[l.rng.Intn(len(l.messages))].timestamp }
func (l *randomLog) one(in int) bool { return l.rng.Intn(in) == 0 }

func (l *randomLog) message(i int, now int64) *events.Message {
	e := &events.Message{ChannelID: l.channel(), OccurredAt: now + l.rng.Int63n(7) - 3}
	switch k := l.rng.Intn(20); {
	case k < 12:
		e.Kind, e.MessageID, e.SenderID = events.KindMessagePosted, []byte(fmt.Sprintf("m%d", i)), l.user()
		if l.one(6) {
			e.MessageID = l.id()
		}
		e.Silent, e.MentionAll = l.one(8), l.one(8)
		if l.one(5) {
			e.ThreadID, e.Broadcast = l.id(), l.one(3)
		}
		if l.one(4) {
			e.IDs = [][]byte{l.user(), l.user()}
		}
	case k == 12:
		e.Kind, e.MessageID, e.Preview = events.KindMessageEdited, l.id(), []byte("x")
		if l.one(2) {
			e.IDs = [][]byte{l.user()}
		}
		e.MentionAll, e.KeepMentions = l.one(3), l.one(3)
	case k < 15:
		e.Kind, e.MessageID, e.Seq = events.KindMessageDeleted, l.id(), uint32(l.rng.Intn(10))
	case k == 15 && l.one(3):
		e.Kind, e.Target, e.Seq = events.KindMessagesPurged, events.TargetSeq, uint32(1+l.rng.Intn(l.n))
	case k == 16:
		e.Kind, e.IDs = events.KindMembersLeft, [][]byte{l.user()}
	case k == 17 && l.one(10):
		e.Kind = events.KindChannelDeleted
	default:
		e.Kind, e.IDs, e.CountHistory = events.KindMembersJoined, [][]byte{l.user(), l.user()}, l.one(3)
	}
	return e
}

func (l *randomLog) read(t int64) *events.Read {
	e := &events.Read{ChannelID: l.channel(), UserID: l.user(), OccurredAt: t}
	switch k := l.rng.Intn(20); {
	case k < 9:
		e.Kind = events.KindReadUpTo
		switch l.rng.Intn(3) {
		case 0:
			e.Target, e.MessageID = events.TargetMessageID, l.id()
		case 1:
			e.Target, e.Seq = events.TargetSeq, uint32(1+l.rng.Intn(l.n))
		case 2:
			e.Target, e.TargetTime = events.TargetTime, l.someTime()+l.rng.Int63n(5)-2
		}
		e.ReadEpoch = uint32(l.rng.Intn(4) * l.rng.Intn(2))
	case k < 12:
		e.Kind, e.IDs = events.KindMessagesRead, [][]byte{l.id(), l.id()}
	case k < 19:
		e.Kind, e.MessageID = events.KindMarkedUnread, l.id()
		switch l.rng.Intn(3) {
		case 0:
			e.HeadMessageID = l.id()
		case 1:
			e.HeadSeq = uint32(1 + l.rng.Intn(l.n))
		}
	default:
		e.Kind, e.Muted = events.KindChannelMuted, l.one(2)
	}
	return e
}

// foldNext folds the next record of either topic.
func (l *randomLog) foldNext(p *Partition, message bool) {
	pos := p.rules.Position()
	if message {
		r := l.messages[pos[events.Messages]]
		p.rules.FoldMessage(r.message, pos[events.Messages], r.timestamp)
	} else {
		r := l.reads[pos[events.Reads]]
		p.rules.FoldRead(r.read, pos[events.Reads], r.timestamp)
	}
}

// foldTo folds up to a position in an order that next draws: it reports whether the next record is
// a message.
func (l *randomLog) foldTo(p *Partition, messages, reads int64, next func() bool) {
	for {
		pos := p.rules.Position()
		m, r := pos[events.Messages] < messages, pos[events.Reads] < reads
		if !m && !r {
			return
		}
		l.foldNext(p, m && (!r || next()))
	}
}

func testIdentity() Identity {
	id := Identity{ClusterID: "cluster", Partition: 1, Partitions: 4, Settings: DefaultSettings()}
	for i, name := range events.InputTopics {
		id.Topics[i] = TopicIdentity{Name: name, ID: [16]byte{byte(i + 1)}}
	}
	return id
}

func mustOpen(t testing.TB, fs vfs.FS, id Identity) *Partition {
	t.Helper()
	p, err := Open("store", id, Options{FS: fs, MemTableSize: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mustCut drains, cuts and applies.
func mustCut(t testing.TB, p *Partition) {
	t.Helper()
	var d Deltas
	p.Drain(&d, true)
	c, err := p.Cut()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(); err != nil {
		t.Fatal(err)
	}
}

// dump returns everything in a store: its records and digest, and all views.
func dump(t testing.TB, p *Partition) string {
	t.Helper()
	s := ""
	if err := p.Dump(func(k, v []byte) error { s += fmt.Sprintf("%q %x\n", k, v); return nil }); err != nil {
		t.Fatal(err)
	}
	for _, c := range logChannels {
		for _, u := range logUsers {
			v, ok := p.View(u, c)
			s += fmt.Sprintf("%t %+v\n", ok, v)
		}
	}
	return s + fmt.Sprintf("digest %x\n", p.rules.Digest())
}
