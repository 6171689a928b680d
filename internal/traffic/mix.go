package traffic

import (
	"encoding/binary"
	"fmt"
	"math/rand"

	"github.com/tidemark/tidemark/events"
)

// Mix is a workload of Tidemark's benches. Equal mixes have equal events on every run, encoded as
// in DESIGN §3. Channels are drawn with Zipf (s 1.1, v 50), users within a channel evenly. Readers
// follow activity: a read is up to the newest message of its channel.
type Mix struct {
	Name     string
	Channels int
	Members  int // of each channel
	Users    int
	Reads    int // for each message
	Seed     int64

	Deliveries int // for each message, before its reads
	Threads    int // one message and one read in this many is in a thread, 0 = none

	Uniform bool // all channels are equally busy

	Heavy int // users beside Users, who take turns as the last member of every channel with HasHeavy
}

// Mixes by name.
var Mixes = map[string]Mix{
	"A": {Name: "A", Channels: 10_000, Members: 50, Users: 100_000, Reads: 0, Seed: 1},
	"B": {Name: "B", Channels: 10_000, Members: 50, Users: 100_000, Reads: 15, Seed: 2},
	"R": {Name: "R", Channels: 10_000, Members: 50, Users: 100_000, Reads: 15, Seed: 8, Deliveries: 5, Threads: 10}, // B with everything
	"C": {Name: "C", Channels: 250_000, Members: 2, Users: 100_000, Reads: 1, Seed: 3},
	"D": {Name: "D", Channels: 1_000, Members: 1_000, Users: 100_000, Reads: 0, Seed: 4},
	"E": {Name: "E", Channels: 10, Members: 100_000, Users: 100_000, Reads: 0, Seed: 5},
	"F": {Name: "F", Channels: 1_000, Members: 1_000, Users: 100_000, Reads: 15, Seed: 6},
	"G": {Name: "G", Channels: 1_000_000, Members: 20, Users: 2_000_000, Reads: 15, Seed: 9},
	"S": {Name: "S", Channels: 1_000, Members: 50, Users: 10_000, Reads: 15, Seed: 7},
}

// Base is the time of the first event, in Unix milliseconds; there are 100 events to a millisecond.
const Base = int64(1_790_000_000_000)

// joinChunk bounds the users of one members_joined.
const joinChunk = 2_000

// Event is one record. Key and Value are valid until the next one.
type Event struct {
	Input  events.Input
	Key    []byte // channel id
	Value  []byte
	Millis int64
}

// Generator hands out the events of a mix, one after the other.
type Generator struct {
	mix   Mix
	rng   *rand.Rand
	zipf  *rand.Zipf
	perm  []int // spreads busy channels over the partitions
	head  []uint64
	root  []uint64 // thread of each channel
	reply []uint64 // the newest in it
	ticks int64
	sent  uint64
	reads int
	news  int // due deliveries
	at    int // channel of the last message
	key   []byte
	value []byte
	inner []byte
}

// New returns a generator at its beginning.
func New(m Mix) *Generator {
	rng := rand.New(rand.NewSource(m.Seed))
	return &Generator{
		mix: m, rng: rng, zipf: rand.NewZipf(rng, 1.1, 50, uint64(m.Channels-1)),
		perm: rng.Perm(m.Channels), head: make([]uint64, m.Channels),
		root: make([]uint64, m.Channels), reply: make([]uint64, m.Channels),
	}
}

// ChannelID names channel c.
func ChannelID(c int) string { return fmt.Sprintf("chn_%09d", c) }

// UserID names user u.
func UserID(u int) string { return fmt.Sprintf("usr_%09d", u) }

// heavyEvery is how many channels there are for each that has a heavy member.
const heavyEvery = 8

// HasHeavy reports whether the last member of channel c is one of the mix's heavy users.
func (m Mix) HasHeavy(c int) bool { return m.Heavy > 0 && c%heavyEvery == 0 }

// HeavyChannels are the channels of heavy user n, of Heavy.
func (m Mix) HeavyChannels(n int) (channels []int) {
	for c := n * heavyEvery; c < m.Channels; c += m.Heavy * heavyEvery {
		channels = append(channels, c)
	}
	return channels
}

// Member is the user who is member j of channel c.
func (m Mix) Member(c, j int) int {
	if j == m.Members-1 && m.HasHeavy(c) {
		return m.Users + c/heavyEvery%m.Heavy
	}
	base := int((uint64(c)*0x9E3779B97F4A7C15)>>33) % m.Users
	return (base + j*7) % m.Users
}

func appendNumber(b []byte, prefix string, n int) []byte {
	b = append(b, prefix...)
	for div := 100_000_000; div > 0; div /= 10 {
		b = append(b, byte('0'+n/div%10))
	}
	return b
}

func (g *Generator) now() int64 {
	g.ticks++
	return Base + g.ticks/100
}

// Joins calls emit for the members_joined events of all channels, which come before all others.
func (g *Generator) Joins(emit func(*Event)) {
	for c := range g.mix.Channels {
		for from := 0; from < g.mix.Members; from += joinChunk {
			t := g.now()
			g.begin(c, 2, t)
			g.inner = g.inner[:0]
			for j := from; j < min(from+joinChunk, g.mix.Members); j++ {
				g.inner = appendField(g.inner, 1, appendNumber(nil, "usr_", g.mix.Member(c, j)))
			}
			g.value = appendField(g.value, 14, g.inner)
			emit(&Event{events.Messages, g.key, g.value, t})
		}
	}
}

// Next is the next message, delivery or read.
func (g *Generator) Next() Event {
	if g.news > 0 {
		g.news--
		return g.delivery(g.at)
	}
	if g.reads > 0 {
		g.reads--
		c := g.draw()
		for g.head[c] == 0 {
			c = g.draw()
		}
		return g.read(c)
	}
	g.reads, g.news = g.mix.Reads, g.mix.Deliveries
	g.at = g.draw()
	return g.Message(g.at)
}

// inThread reports whether the next event of a channel is in its thread.
func (g *Generator) inThread(c int) bool {
	return g.mix.Threads > 0 && g.root[c] != 0 && g.rng.Intn(g.mix.Threads) == 0
}

func (g *Generator) draw() int {
	if g.mix.Uniform {
		return g.rng.Intn(g.mix.Channels)
	}
	return g.perm[g.zipf.Uint64()]
}

// Message is a message into channel c.
func (g *Generator) Message(c int) Event {
	g.sent++
	reply := g.inThread(c)
	if !reply {
		g.head[c] = g.sent
	} else {
		g.reply[c] = g.sent
	}
	if g.root[c] == 0 {
		g.root[c] = g.sent
	}
	t := g.now()
	g.begin(c, 2, t)
	g.inner = appendField(g.inner[:0], 1, messageID(g.sent))
	g.inner = appendField(g.inner, 2, appendNumber(nil, "usr_", g.mix.Member(c, g.rng.Intn(g.mix.Members))))
	g.inner = appendField(g.inner, 3, []byte("See you at the station at half past twelve"))
	if reply {
		g.inner = appendField(g.inner, 4, messageID(g.root[c]))
	}
	g.value = appendField(g.value, 10, g.inner)
	return Event{events.Messages, g.key, g.value, t}
}

func (g *Generator) read(c int) Event {
	t := g.now()
	g.begin(c, 0, t)
	g.value = appendField(g.value, 2, appendNumber(nil, "usr_", g.mix.Member(c, g.rng.Intn(g.mix.Members))))
	g.value = appendTime(g.value, 3, t)
	g.value = appendField(g.value, 4, []byte("gw-07-c9f31a"))
	if g.reply[c] != 0 && g.inThread(c) {
		g.inner = appendField(g.inner[:0], 1, messageID(g.reply[c]))
		g.inner = appendField(g.inner, 4, messageID(g.root[c]))
	} else {
		g.inner = appendField(g.inner[:0], 1, messageID(g.head[c]))
	}
	g.value = appendField(g.value, 10, g.inner)
	return Event{events.Reads, g.key, g.value, t}
}

// delivery returns the delivery of the newest message to one of its channel's members.
func (g *Generator) delivery(c int) Event {
	t := g.now()
	g.begin(c, 0, t)
	g.value = appendField(g.value, 2, appendNumber(nil, "usr_", g.mix.Member(c, g.rng.Intn(g.mix.Members))))
	g.value = appendTime(g.value, 3, t)
	g.inner = appendField(g.inner[:0], 1, messageID(g.sent))
	g.inner = appendField(g.inner, 3, []byte("phone"))
	g.value = appendField(g.value, 10, g.inner)
	return Event{events.Deliveries, g.key, g.value, t}
}

// begin starts a value with its channel, and its time in field timeField unless that is 0.
func (g *Generator) begin(c int, timeField byte, t int64) {
	g.key = appendNumber(g.key[:0], "chn_", c)
	g.value = appendField(g.value[:0], 1, g.key)
	if timeField != 0 {
		g.value = appendTime(g.value, timeField, t)
	}
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// messageID returns an id of 26 characters, like a ULID.
func messageID(n uint64) []byte {
	var b [26]byte
	x := n * 0x9E3779B97F4A7C15
	for i := range b {
		switch {
		case i < 10:
			b[9-i] = crockford[n&31]
			n >>= 5
		default:
			b[i] = crockford[x&31]
			x = x>>3 ^ x<<7
		}
	}
	return b[:]
}

func appendField(b []byte, field byte, v []byte) []byte {
	b = append(b, field<<3|2)
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(b, v...)
}

func appendTime(b []byte, field byte, ms int64) []byte {
	var in [16]byte
	t := binary.AppendUvarint(append(in[:0], 8), uint64(ms/1000))
	if n := ms % 1000 * 1_000_000; n != 0 {
		t = binary.AppendUvarint(append(t, 16), uint64(n))
	}
	return appendField(b, field, t)
}
