package cache

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/events"
)

// The counts derived from the bytes in Redis equal those of a naive program over the channel's
// messages.
func TestDerivedCountsAreBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type message struct{ deleted, all, own, read, mention bool }
		n := rapid.IntRange(0, 60).Draw(t, "messages")
		log := make([]message, n+1) // by position
		flag := rapid.IntRange(0, 3)
		for p := 1; p <= n; p++ {
			log[p] = message{
				deleted: flag.Draw(t, "deleted") == 0, all: flag.Draw(t, "all") == 0, own: flag.Draw(t, "own") == 0,
				read: flag.Draw(t, "read") == 0, mention: flag.Draw(t, "mention") == 0,
			}
		}
		readPos := rapid.IntRange(0, n).Draw(t, "read pos")
		purged := rapid.IntRange(0, n).Draw(t, "purged")

		d := &events.UnreadDelta{Large: true, Member: true, ReadPos: uint32(readPos), ReadEpoch: 1, Stamp: stampOf(1, 1)}
		c := &events.ChannelRecord{HeadPos: uint32(n), HeadSeq: uint32(n), PurgedPos: uint32(purged)}
		var unread, mentions uint32
		for p := 1; p <= n; p++ {
			m, pos := log[p], uint32(p)
			if m.deleted {
				c.Holes = append(c.Holes, pos)
			} else if m.all {
				c.Alls = append(c.Alls, pos)
			}
			if p > readPos && (m.own || m.read) {
				d.Excluded = append(d.Excluded, pos)
			}
			if p > readPos && m.mention && !m.deleted {
				d.Mentioned = append(d.Mentioned, pos)
			}
			if p > readPos && p > purged && !m.deleted && !m.own && !m.read {
				unread++
				if m.all || m.mention {
					mentions++
				}
			}
		}
		e, ch := throughRedis(t, d, c)
		e.Settle(ch)
		if !e.Known || e.Unread != unread || e.Mentions != mentions {
			t.Fatalf("known %v, unread %d, mentions %d; want %d and %d", e.Known, e.Unread, e.Mentions, unread, mentions)
		}
	})
}

// throughRedis encodes d and c as the writer does, and returns a reader's result for the bytes.
func throughRedis(t rapid.TB, d *events.UnreadDelta, c *events.ChannelRecord) (Entry, *Channel) {
	e, err := entry.Parse("c", string(entry.AppendValue(nil, d)))
	if err != nil {
		t.Fatal(err)
	}
	var out commands
	out.Command("hset")
	entry.AppendHash(&out.Commands, c)
	args := out.List()[0][1:]
	hash := map[string]string{}
	for i := 0; i < len(args); i += 2 {
		hash[*args[i].(*string)] = *args[i+1].(*string)
	}
	ch, err := entry.ParseChannel(ChannelLatestKey("c"), "c", hash)
	if err != nil {
		t.Fatal(err)
	}
	return e, ch
}

func TestDeriveSaysWhenItCannot(t *testing.T) {
	full := make([]uint32, events.MaxListed)
	for i := range full {
		full[i] = uint32(100 + 2*i)
	}
	base := func() (*events.UnreadDelta, *events.ChannelRecord) {
		return &events.UnreadDelta{Large: true, ReadPos: 50, ReadEpoch: 1}, &events.ChannelRecord{HeadPos: 5000, HeadSeq: 5000}
	}
	for _, c := range []struct {
		name   string
		change func(d *events.UnreadDelta, c *events.ChannelRecord)
		known  bool
	}{
		{"nothing left out", func(*events.UnreadDelta, *events.ChannelRecord) {}, true},
		{"holes listed from where was read", func(_ *events.UnreadDelta, c *events.ChannelRecord) { c.HolesFloor = 50 }, true},
		{"holes listed from later on", func(_ *events.UnreadDelta, c *events.ChannelRecord) { c.HolesFloor = 51 }, false},
		{"holes listed from what is purged", func(_ *events.UnreadDelta, c *events.ChannelRecord) { c.HolesFloor, c.PurgedPos = 80, 80 }, true},
		{"alls listed from later on", func(_ *events.UnreadDelta, c *events.ChannelRecord) { c.AllsFloor = 51 }, false},
		{"full list of excluded", func(d *events.UnreadDelta, _ *events.ChannelRecord) { d.Excluded = full }, false},
		{"full list of mentioned", func(d *events.UnreadDelta, _ *events.ChannelRecord) { d.Mentioned = full }, false},
		{"full lists, all of it read", func(d *events.UnreadDelta, c *events.ChannelRecord) {
			d.Excluded, d.ReadPos, c.HolesFloor = full, 5000, 6000
		}, true},
	} {
		d, r := base()
		c.change(d, r)
		e, ch := throughRedis(t, d, r)
		e.Settle(ch)
		if e.Known != c.known {
			t.Errorf("%s: known %v, want %v", c.name, e.Known, c.known)
		}
		if !e.Known && (e.Unread != 0 || e.Mentions != 0) {
			t.Errorf("%s: not known, but %d unread and %d mentions", c.name, e.Unread, e.Mentions)
		}
	}
}

// The record of the channel may be older than the delta, because it comes from another topic.
func TestDeriveWithAnOlderHead(t *testing.T) {
	d := &events.UnreadDelta{Large: true, ReadPos: 10, Excluded: []uint32{12}, Mentioned: []uint32{13}, ReadEpoch: 1}
	for head, want := range map[uint32]uint32{9: 0, 10: 0, 11: 1, 12: 1, 13: 2} {
		e, ch := throughRedis(t, d, &events.ChannelRecord{HeadPos: head, HeadSeq: head})
		e.Settle(ch)
		if !e.Known || e.Unread != want {
			t.Errorf("head at %d: known %v, unread %d, want %d", head, e.Known, e.Unread, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	for s, want := range map[string]int64{
		"2026-01-02T03:04:05.678Z": t0, "2026-01-02T03:04:05Z": t0 - 678, "2026-01-02T04:04:05.678+01:00": t0,
	} {
		if got, err := entry.ParseTime(s); err != nil || got.UnixMilli() != want {
			t.Errorf("%s: got %v, %v", s, got, err)
		}
	}
	for _, s := range []string{
		"yesterday", "2026-01-02", "2026-13-02T03:04:05.678Z", "2026-02-30T03:04:05.678Z", "2026-01-02T24:04:05.678Z",
		"2026-01-02T03:60:05.678Z", "2026-01-02T03:04:60.678Z", "2026-01-02 03:04:05.678Z", "2026-01-02T03:04:0a.678Z", "2026-00-02T03:04:05.678Z",
	} {
		if got, err := entry.ParseTime(s); err == nil {
			t.Errorf("%s was read as %v", s, got)
		}
	}
	if got, err := entry.ParseTime(""); err != nil || !got.IsZero() {
		t.Errorf("no time: got %v, %v", got, err)
	}
}
