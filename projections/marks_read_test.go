package projections

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/state"
)

func (f *feed) postWithReads(reads events.Choice, channel, id, sender, thread string) {
	f.message(events.Message{Kind: events.KindMessagePosted, ChannelID: []byte(channel), MessageID: []byte(id), SenderID: []byte(sender),
		ThreadID: []byte(thread), MarksRead: reads})
}

// TestMarksReadFormats pins the bytes of messages whose producer overrides the setting, and of
// their senders' rows. A store has the newest format from the first such message on. Messages that
// state the same as the setting are stored like those that state nothing.
func TestMarksReadFormats(t *testing.T) {
	for setting, c := range map[bool]struct {
		contrary, same events.Choice
		row, thread    string
		messages       []string
	}{
		true: {
			events.No, events.Yes, "03616e6e89000200a01f0801d00f", "000388000300a01f080000",
			[]string{"40d00f000100026d3103616e6e00", "c0a01f000201026d3203616e6e0001", "c2a01f00030002723103616e6e00026d31000000"},
		},
		false: {
			events.Yes, events.No, "03616e6e89000200a01f0802a01f", "000388000300a01f0803a01f",
			[]string{"40d00f000100026d3103616e6e00", "c0a01f000201026d3203616e6e0000", "c2a01f00030002723103616e6e00026d31000000"},
		},
	} {
		id := testIdentity()
		id.Settings.SendMarksRead = setting
		p := mustOpen(t, vfs.NewMem(), id)
		f := &feed{p: p, now: 1000}
		f.join("c", "ann")
		f.postWithReads(c.same, "c", "m1", "ann", "")
		if got := f.format(t); got != identity.FormatVersion {
			t.Errorf("setting %t: with a message that says the same the format is %d", setting, got)
		}
		f.now = 2000
		f.postWithReads(c.contrary, "c", "m2", "ann", "")
		f.postWithReads(c.contrary, "c", "r1", "ann", "m1")
		if got := f.format(t); got != identity.CustomizedFormat {
			t.Errorf("setting %t: with one that says the opposite the format is %d", setting, got)
		}
		for key, want := range map[string]string{"Cc\x00p\x00\x00\x00\x00": c.row, "Cc\x00fann\x00m1": c.thread} {
			if got := hex.EncodeToString(mustStored(t, p, key)); got != want {
				t.Errorf("setting %t: %q is %s, want %s", setting, key, got, want)
			}
		}
		ch := p.rules.Channels.At(p.rules.ChannelOf([]byte("c")))
		for i, want := range c.messages {
			e := p.rules.EntryAt(ch, uint32(i)+1)
			if got := hex.EncodeToString(e.Append(nil)); got != want {
				t.Errorf("setting %t: message %d is %s, want %s", setting, i+1, got, want)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMarksReadSkips: from an own post that reads to the one before it takes a step or two, however
// many posts that do not read are between them.
func TestMarksReadSkips(t *testing.T) {
	for _, setting := range []bool{true, false} {
		id := testIdentity()
		id.Settings.SendMarksRead = setting
		p := mustOpen(t, vfs.NewMem(), id)
		defer p.Close()
		f := &feed{p: p, now: 1000}
		f.join("c", "ann")
		f.postWithReads(events.Yes, "c", "m1", "ann", "")
		for i := range 50 {
			f.postWithReads(events.No, "c", fmt.Sprint("n", i), "ann", "")
		}
		f.postWithReads(events.Yes, "c", "m52", "ann", "")
		ci := p.rules.ChannelOf([]byte("c"))
		c, r := p.rules.Channels.At(ci), p.rules.PairOrNone(ci, "ann")
		seq, _ := p.rules.NewestRead(r)
		steps := 0
		for ; seq > 1; steps++ {
			e := p.rules.EntryAt(c, seq)
			seq = state.ReadBefore(&e, false)
		}
		if seq != 1 || steps > 2 {
			t.Errorf("setting %t: at %d after %d steps", setting, seq, steps)
		}
		if v, _ := p.View("ann", "c"); v.LastRead.Seq != 52 || v.LastRead.MessageID != "m52" {
			t.Errorf("setting %t: ann read up to %+v", setting, v.LastRead)
		}
	}
}
