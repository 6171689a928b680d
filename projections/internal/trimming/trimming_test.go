package trimming

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/state"
)

const day = 24 * 3600 * 1000

// channelOf returns the trimming of a state with one channel of 40 messages, posted one a day, of which
// only the first block is older than the retention of three days and a week, and the channel. Its blocks
// are in the overlay.
func channelOf(t *testing.T) (*Trimming, uint32) {
	t.Helper()
	p := &state.State{}
	p.Begin(identity.Settings{TrimLog: true, IndexRetention: 3 * day}, nil)
	into := &overlay.Written{Now: &overlay.Overlay{}}
	ci, c := p.EnsureChannel([]byte("c"))
	var block []byte
	for seq := uint32(1); seq <= 40; seq++ {
		if (seq-1)%history.BlockLen == 0 {
			block = []byte{0} // the distance of the anchor
		}
		e := history.Entry{Seq: seq, ID: fmt.Appendf(nil, "m%d", seq), Time: int64(seq) * day, LogTime: int64(seq) * day}
		enc := e.Append(nil)
		block = append(append(block, byte(len(enc))), enc...)
		c.HeadSeq, c.LogTime = seq, e.LogTime
		if c.FirstTime == 0 {
			c.FirstTime = e.Time
		}
		p.NoteFull(ci, c, seq)
		if seq%history.BlockLen == 0 {
			into.PutNew(keys.AppendLog(nil, []byte("c"), (seq-1)/history.BlockLen), block)
		}
	}
	p.MessageTime, p.ReadTime, p.DeliveryTime = 40*day, 40*day, 40*day
	k := &Trimming{State: p, Into: into, Step: func() {}}
	k.Stored = func(key []byte) ([]byte, bool, error) {
		val, deleted, ok := into.Now.Get(key)
		return val, ok && !deleted, nil
	}
	return k, ci
}

// TestLogs: a log that a message has made due is trimmed with the next cut. One that waits for the
// topics is in State.Due once, until they have passed.
func TestLogs(t *testing.T) {
	k, ci := channelOf(t)
	c := k.Channels.At(ci)
	logs := func(blocks uint32, waits bool, due int) {
		t.Helper()
		if err := k.Logs(); err != nil {
			t.Fatal(err)
		}
		if e := k.EndedAt(ci); e.Blocks != blocks || k.LogWaits(c, e) != waits || len(k.Due) != due {
			t.Fatalf("%d blocks are trimmed, the log waits: %t, and %d channels in Due; want %d, %t, %d", e.Blocks, k.LogWaits(c, e), len(k.Due), blocks, waits, due)
		}
	}
	for _, topic := range []int64{state.MinTime, 20 * day} { // 20 days: the last message of the block is remembered
		k.ReadTime = topic
		k.TouchChannel(ci, c)
		logs(0, true, 1)
		k.TouchChannel(ci, c)
		logs(0, true, 1)
	}
	k.DirtyChannels, c.Dirty = nil, 0
	k.ReadTime = 40 * day
	logs(1, false, 0)
	if e := k.EndedAt(ci); e.Next != 32*day {
		t.Errorf("the next block ends at %d, want 32 days", e.Next/day)
	}
	if len(k.DirtyChannels) != 1 {
		t.Error("the cut does not write the channel")
	}
	val, _, _ := k.Stored(keys.AppendLog(nil, []byte("c"), 0))
	var e history.Entry
	if err := history.BlockEntry(val, 16, 16, &e); err != nil || !e.Trimmed || e.LogTime != 16*day {
		t.Errorf("the block's last message is %+v, %v", e, err)
	}
}

// TestBound: a cut finds out where a block ends of which only a bound is known, whether the topics lag or
// not, and does not trim a block of which the head still remembers the last message.
func TestBound(t *testing.T) {
	for _, topic := range []int64{state.MinTime, 40 * day} {
		k, ci := channelOf(t)
		c := k.Channels.At(ci)
		c.LogTime = 20 * day // the first message was 19 days before, and the block's last 4
		k.ReadTime = topic
		*k.EndingOf(ci) = state.Ending{Bound: true, Next: c.FirstTime}
		if !k.LogWaits(c, k.EndedAt(ci)) {
			t.Fatal("the bound does not make the log wait: the test shows nothing")
		}
		k.TouchChannel(ci, c)
		if err := k.Logs(); err != nil {
			t.Fatal(err)
		}
		if e := k.EndedAt(ci); e != (state.Ending{Next: 16 * day}) || k.LogWaits(c, e) || len(k.Due) > 0 {
			t.Errorf("%+v, waits: %t, %d channels in Due", e, k.LogWaits(c, e), len(k.Due))
		}
	}
}

// TestDeleted: an entry of State.Due is of no use when its channel was deleted, also when another has its
// place.
func TestDeleted(t *testing.T) {
	k, ci := channelOf(t)
	k.ReadTime = 20 * day
	k.TouchChannel(ci, k.Channels.At(ci))
	for range 3 {
		if err := k.Logs(); err != nil {
			t.Fatal(err)
		}
		*k.EndingOf(ci) = state.Ending{Next: 17 * day}
	}
	*k.EndingOf(ci) = state.Ending{Next: 18 * day}
	k.DirtyChannels = nil
	k.ReadTime = 28 * day // the entries are due
	if len(k.Due) == 0 {
		t.Fatal("no entry was due")
	}
	if err := k.Logs(); err != nil {
		t.Fatal(err)
	}
	if e := k.EndedAt(ci); len(k.Due) > 0 || e.Blocks > 0 {
		t.Errorf("%+v, %d channels in Due", e, len(k.Due))
	}
}

// TestBadBlocks: a block that is missing, trimmed already or damaged is an error that names the channel
// and the block, and nothing of it is written.
func TestBadBlocks(t *testing.T) {
	for name, c := range map[string]struct {
		block func(good []byte) []byte
		want  string
	}{
		"missing": {func([]byte) []byte { return nil }, "missing from the store"},
		"short":   {func(good []byte) []byte { return good[:len(good)/2] }, "block 0"},
		"long":    {func(good []byte) []byte { return append(good[:len(good):len(good)], 0) }, "block 0"},
		"trimmed": {func(good []byte) []byte {
			var list [history.BlockLen]history.Entry
			for i := range list {
				list[i] = history.Entry{Seq: uint32(i) + 1, LogTime: 16 * day}
			}
			return history.AppendTrimmed(nil, &list)
		}, "trimmed already"},
	} {
		k, ci := channelOf(t)
		good := k.Stored
		k.Stored = func(key []byte) ([]byte, bool, error) {
			val, ok, err := good(key)
			if key[0] == keys.Log {
				val = c.block(val)
			}
			return val, ok && val != nil, err
		}
		k.TouchChannel(ci, k.Channels.At(ci))
		before := k.Into.Digest
		err := k.Logs()
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `channel "c"`) {
			t.Errorf("%s: %v", name, err)
		}
		if k.Into.Digest != before {
			t.Errorf("%s: something was written", name)
		}
	}
}
