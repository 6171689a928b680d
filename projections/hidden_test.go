package projections

import (
	"encoding/hex"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/identity"
)

// TestHiddenFormats pins the bytes of hidden messages. A store's format says that it has them until
// the channel is deleted.
func TestHiddenFormats(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p: p, now: 1000}
	post := func(id, sender, thread string, from ...string) {
		f.message(events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: []byte(id), SenderID: []byte(sender), ThreadID: []byte(thread), HiddenFrom: idsOf(from)})
	}
	f.join("c", "ann", "bob")
	post("m1", "ann", "")
	if got := f.format(t); got != identity.FormatVersion {
		t.Errorf("with nothing hidden the format is %d", got)
	}
	post("m2", "bob", "", "ann", "bob", "ann", "eve") // it exists for its sender
	post("m3", "bob", "m1", "ann")
	if got := f.format(t); got != identity.CustomizedFormat {
		t.Errorf("with messages hidden the format is %d", got)
	}
	for key, want := range map[string]string{
		"Cc\x00xann\x00\x00\x00": "000202",
		"Cc\x00xeve\x00\x00\x00": "000201",
		"Cc\x00tm1":              "080103",
	} {
		if got := hex.EncodeToString(mustStored(t, p, key)); got != want {
			t.Errorf("%q is %s, want %s", key, got, want)
		}
	}
	if flags := mustStored(t, p, "Cc\x00c")[0]; flags != 32 {
		t.Errorf("the channel's flags are %d", flags)
	}
	for key, message := range map[string]string{"Cc\x00xbob\x00\x00\x00": "of its sender", "Cc\x00geve": "of one who only is not to see it"} {
		if _, _, err := p.db.Get([]byte(key)); err == nil {
			t.Errorf("there is a record %s", message)
		}
	}
	f.message(events.Message{Kind: events.KindChannelDeleted, ChannelID: []byte("c")})
	if got := f.format(t); got != identity.FormatVersion {
		t.Errorf("with the channel deleted the format is %d", got)
	}
	if _, _, err := p.db.Get([]byte("Cc\x00xann\x00\x00\x00")); err == nil {
		t.Error("what was hidden is still stored")
	}
}

// TestHiddenByOneselfFormats pins the bytes of messages that users hide. The store keeps waiting
// ids among the open reads, and an up_to_seq replaces the ids at or below it.
func TestHiddenByOneselfFormats(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p: p, now: 1000}
	f.join("c", "ann", "bob")
	hide := func(seq uint32, ids ...string) {
		f.setting("c", "ann", events.Read{Kind: events.KindMessagesHidden, Seq: seq, IDs: idsOf(ids)})
	}
	has := func(key, want string) {
		t.Helper()
		f.store(t)
		val, closer, err := p.db.Get([]byte(key))
		got := ""
		if err == nil {
			got = hex.EncodeToString(val)
			closer.Close()
		}
		if got != want {
			t.Errorf("%q is %q, want %q", key, got, want)
		}
	}
	set, to, open := "Cc\x00hann\x00\x00\x00", "Cc\x00Hann", "Cc\x00rann"
	hide(0, "m2")
	if got := f.format(t); got != identity.CustomizedFormat || mustStored(t, p, open)[0] != 7 {
		t.Errorf("the format is %d, what waits %x", got, mustStored(t, p, open))
	}
	f.post("c", "m1", "bob", "")
	f.post("c", "m2", "bob", "")
	f.post("c", "m3", "bob", "")
	has(open, "")
	has(set, "000201")
	hide(0, "m3")
	has(set, "000202")
	hide(2)
	has(set, "000301")
	has(to, "02")
	if v, _ := p.View("ann", "c"); v.Unread != 0 {
		t.Errorf("%d are unread", v.Unread)
	}
	f.setting("c", "ann", events.Read{Kind: events.KindUserErased})
	has(set, "")
	has(to, "")
	if v, _ := p.View("ann", "c"); v.Unread != 3 {
		t.Errorf("%d are unread after the erasure", v.Unread)
	}
}

// TestHiddenOfColdChannels: users hide messages in a channel that chat.messages never named. Memory
// keeps only waiting events of it. The rest is loaded with the first event that names the channel.
func TestHiddenOfColdChannels(t *testing.T) {
	fs := vfs.NewMem()
	p := mustOpen(t, fs, testIdentity())
	f := &feed{p: p, now: 1000}
	f.setting("c", "ann", events.Read{Kind: events.KindMessagesHidden, Seq: 2})
	for range 3 {
		if got := f.format(t); got != identity.CustomizedFormat {
			t.Errorf("the format is %d", got)
		}
	}
	if n := p.Stats().Pairs; n != 0 {
		t.Errorf("%d pairs are in memory", n)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = mustOpen(t, fs, testIdentity())
	f.p = p
	defer func() { p.Close() }()
	if got := f.format(t); got != identity.CustomizedFormat {
		t.Errorf("opened again the format is %d", got)
	}
	f.join("c", "ann", "bob")
	for _, id := range []string{"m1", "m2", "m3"} {
		f.post("c", id, "bob", "")
	}
	if v, _ := p.View("ann", "c"); v.Unread != 1 || v.FirstUnread.Seq != 3 {
		t.Errorf("%d are unread from %d", v.Unread, v.FirstUnread.Seq)
	}
}

// TestHiddenRangeWithoutPositions: in a large channel the hidden range of a user may contain no
// counted message.
func TestHiddenRangeWithoutPositions(t *testing.T) {
	id := testIdentity()
	id.Settings.FanoutLimit = 0
	p := mustOpen(t, vfs.NewMem(), id)
	defer p.Close()
	f := &feed{p: p, now: 1000}
	f.join("c", "ann", "bob")
	f.message(events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: []byte("m1"), Silent: true})
	f.setting("c", "ann", events.Read{Kind: events.KindMessagesHidden, Seq: 1})
	if v, _ := p.View("ann", "c"); !v.Large || len(v.Excluded) != 0 || cap(v.Excluded) > 16 {
		t.Errorf("excluded are %v, room for %d", v.Excluded, cap(v.Excluded))
	}
	f.post("c", "m2", "bob", "")
	f.post("c", "m3", "bob", "")
	f.setting("c", "ann", events.Read{Kind: events.KindMessagesHidden, Seq: 2, IDs: idsOf([]string{"m3"})})
	if v, _ := p.View("ann", "c"); len(v.Excluded) != 2 || v.Excluded[0] != 1 || v.Excluded[1] != 2 || v.Ask {
		t.Errorf("excluded are %v", v.Excluded)
	}
}

// TestHiddenAhead: in a large channel a user who hides messages that are not posted yet gets a
// delta at once, and another one when they are posted. Messages in between make no delta, however
// many users hide them.
func TestHiddenAhead(t *testing.T) {
	id := testIdentity()
	id.Settings.FanoutLimit = 0
	for name, restart := range map[string]bool{"": false, " and a restart": true} {
		fs := vfs.NewMem()
		p := mustOpen(t, fs, id)
		f := &feed{p: p, now: 1000}
		deltas := func() (n int) {
			var d Deltas
			p.Drain(&d, true)
			for _, r := range d.Records {
				if r.Topic == OutUnread {
					n++
				}
			}
			return n
		}
		f.setting("c", "ann", events.Read{Kind: events.KindMessagesHidden, Seq: 3})
		f.join("c", "ann", "bob")
		f.post("c", "m1", "", "")
		deltas()
		if restart {
			f.store(t)
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			p = mustOpen(t, fs, id)
			f.p = p
		}
		if v, _ := p.View("ann", "c"); v.Unread != 0 || !v.Ask || len(v.Excluded) != 0 {
			t.Errorf("ahead%s: %d unread, excluded %v, ask %t", name, v.Unread, v.Excluded, v.Ask)
		}
		f.post("c", "m2", "", "")
		if n := deltas(); n != 0 {
			t.Errorf("a post before the last that is hidden%s makes %d deltas", name, n)
		}
		f.post("c", "m3", "", "")
		if n := deltas(); n != 1 {
			t.Errorf("the last post that is hidden%s makes %d deltas", name, n)
		}
		if v, _ := p.View("ann", "c"); v.Unread != 0 || v.Ask || len(v.Excluded) != 3 {
			t.Errorf("there%s: %d unread, excluded %v, ask %t", name, v.Unread, v.Excluded, v.Ask)
		}
		f.post("c", "m4", "", "")
		if n := deltas(); n != 0 {
			t.Errorf("a post behind what is hidden%s makes %d deltas", name, n)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
