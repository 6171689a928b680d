package random

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
)

// mix has the parameters that a script draws once.
type mix struct {
	channels []string
	users    []string
	ids      int     // message ids are m1..m<ids>
	steps    []int64 // milliseconds between two records of chat.messages
	retained int64
	repeats  int   // one post in this many has any id, the others the next one
	grow     bool  // ids are also in byte order
	near     int   // half of the ids are among this many newest ones; 0: all ids are equally likely
	threads  int   // one read in this many is in a thread, and one post in half as many is a reply
	seeded   int   // the script begins with this many seeded messages; 0 = none
	longest  []int // largest numbers of records in a topic, of which one is drawn
	least    int   // at least this many records of chat.messages
	timely   bool  // most reads have a time target
	carried  bool  // as many deliveries as other records
	parts    map[Part]bool

	messageKinds []events.Kind
	readKinds    []events.Kind
	posted       []*events.Message // so far, in all channels; reads refer to their times
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

// thread returns one of few threads, so that each has many replies.
func (m *mix) thread(t *rapid.T) []byte {
	if m.threads < 12 {
		return m.id(rapid.IntRange(1, 2).Draw(t, "thread"))
	}
	return m.anyID(t)
}

func (m *mix) anySeq(t *rapid.T, from uint32) uint32 {
	return m.number(t, int(from), m.ids+2+m.seeded, "seq")
}

func (m *mix) channel(t *rapid.T) []byte {
	return []byte(rapid.SampledFrom(m.channels).Draw(t, "channel"))
}

func (m *mix) user(t *rapid.T) []byte { return []byte(rapid.SampledFrom(m.users).Draw(t, "user")) }

// some returns a few users, possibly none, possibly one twice.
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

// time returns a time at or near that of a post, or any time.
func (m *mix) time(t *rapid.T) int64 {
	at := int64(script.Start)
	if len(m.posted) > 0 {
		at = rapid.SampledFrom(m.posted).Draw(t, "near the post").OccurredAt
	}
	at += rapid.SampledFrom([]int64{
		0, 0, 0, millisecond, -millisecond, second, -second, minute, day, -day, 7 * day, -7 * day, 7*day + 1, -7*day - 1, 30 * day, 91 * day,
	}).Draw(t, "distance")
	return max(script.Start, at)
}

// labels returns a few labels, possibly none, possibly one twice.
func (m *mix) labels(t *rapid.T) (out [][]byte) {
	for range rapid.IntRange(0, 3).Draw(t, "how many labels") {
		out = append(out, []byte(rapid.SampledFrom([]string{"work", "home", "team"}).Draw(t, "label")))
	}
	return out
}
