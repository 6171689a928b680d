// Package load makes the workloads that Tidemark is measured with: chat events, encoded as DESIGN §3 has them, the same
// for the same Mix on every run. Channels are drawn with Zipf (s 1.1, v 50), users within a channel evenly; readers
// follow activity: a read is up to the newest message of its channel.
package load

import (
	"encoding/binary"
	"fmt"
	"math/rand"
)

// Mix is one workload.
type Mix struct {
	Name     string
	Channels int
	Members  int // of each channel
	Users    int
	Reads    int // for each message
	Seed     int64
}

// Mixes by name.
var Mixes = map[string]Mix{
	"A": {"A", 10_000, 50, 100_000, 0, 1},
	"B": {"B", 10_000, 50, 100_000, 15, 2},
	"C": {"C", 250_000, 2, 100_000, 1, 3},
	"D": {"D", 1_000, 1_000, 100_000, 0, 4},
	"E": {"E", 10, 100_000, 100_000, 0, 5},
	"F": {"F", 1_000, 1_000, 100_000, 15, 6},
	"S": {"S", 1_000, 50, 10_000, 15, 7},
}

// Base is the time of the first event, in Unix milliseconds; there are 100 events to a millisecond.
const Base = int64(1_790_000_000_000)

// joinChunk bounds the users of one members_joined.
const joinChunk = 2_000

// Event is one record. Key and Value are valid until the next one.
type Event struct {
	Read   bool
	Key    []byte // channel id
	Value  []byte
	Millis int64
}

// Generator hands out the events of a mix, one after the other.
type Generator struct {
	mix   Mix
	rng   *rand.Rand
	zipf  *rand.Zipf
	perm  []int // so that busy channels are spread over the partitions
	head  []uint64
	ticks int64
	sent  uint64
	reads int
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
	}
}

// ChannelID names channel c.
func ChannelID(c int) string { return fmt.Sprintf("chn_%09d", c) }

// UserID names user u.
func UserID(u int) string { return fmt.Sprintf("usr_%09d", u) }

// Member is the user who is member j of channel c.
func (m Mix) Member(c, j int) int {
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
			emit(&Event{false, g.key, g.value, t})
		}
	}
}

// Next is the next message or read.
func (g *Generator) Next() Event {
	if g.reads > 0 {
		g.reads--
		c := g.draw()
		for g.head[c] == 0 {
			c = g.draw()
		}
		return g.read(c)
	}
	g.reads = g.mix.Reads
	return g.message(g.draw())
}

func (g *Generator) draw() int { return g.perm[g.zipf.Uint64()] }

func (g *Generator) message(c int) Event {
	g.sent++
	g.head[c] = g.sent
	t := g.now()
	g.begin(c, 2, t)
	g.inner = appendField(g.inner[:0], 1, messageID(g.sent))
	g.inner = appendField(g.inner, 2, appendNumber(nil, "usr_", g.mix.Member(c, g.rng.Intn(g.mix.Members))))
	g.inner = appendField(g.inner, 3, []byte("See you at the station at half past twelve"))
	g.value = appendField(g.value, 10, g.inner)
	return Event{false, g.key, g.value, t}
}

func (g *Generator) read(c int) Event {
	t := g.now()
	g.begin(c, 0, t)
	g.value = appendField(g.value, 2, appendNumber(nil, "usr_", g.mix.Member(c, g.rng.Intn(g.mix.Members))))
	g.value = appendTime(g.value, 3, t)
	g.value = appendField(g.value, 4, []byte("gw-07-c9f31a"))
	g.inner = appendField(g.inner[:0], 1, messageID(g.head[c]))
	g.value = appendField(g.value, 10, g.inner)
	return Event{true, g.key, g.value, t}
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

// messageID is an id of 26 characters, as a ULID is.
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
