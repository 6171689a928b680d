package projections

import (
	"encoding/hex"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// setting folds a user's settings of a channel.
func (f *feed) setting(channel, user string, r events.Read) state.Outcome {
	r.ChannelID, r.UserID = []byte(channel), []byte(user)
	return f.read(r)
}

func (f *feed) format(t *testing.T) uint64 {
	t.Helper()
	f.store(t)
	var h identity.Header
	if err := h.Decode(mustStored(t, f.p, "H")); err != nil {
		t.Fatal(err)
	}
	return h.Format
}

func mustStored(t *testing.T, p *Partition, key string) []byte {
	t.Helper()
	val, closer, err := p.db.Get([]byte(key))
	if err != nil {
		t.Fatalf("%q: %v", key, err)
	}
	defer closer.Close()
	return append([]byte(nil), val...)
}

// TestSaidFormats pins the bytes of users' settings of a channel. A store with them has the newer
// format; without settings, the format is the former one.
func TestSaidFormats(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p: p, now: 1000}
	f.join("c", "ann", "bob")
	if got := f.format(t); got != identity.FormatVersion {
		t.Errorf("with nothing said the format is %d", got)
	}
	f.setting("c", "ann", events.Read{Kind: events.KindNotifySet, Level: events.LevelNone}) // a plain mute has room where it had before
	if got := f.format(t); got != identity.FormatVersion {
		t.Errorf("with a mute the format is %d", got)
	}
	f.setting("c", "ann", events.Read{Kind: events.KindNotifySet, Level: events.LevelMentions, Until: 5000, IgnoreAll: events.Yes})
	f.setting("c", "bob", events.Read{Kind: events.KindLineSet, MessageID: []byte("m9")})
	f.setting("c", "bob", events.Read{Kind: events.KindLabelsSet, IDs: idsOf([]string{"work", "home", "work"})})
	f.setting("c", "bob", events.Read{Kind: events.KindFlagSet, Flagged: true, HeadSeq: 7})
	f.setting("c", "bob", events.Read{Kind: events.KindChannelFiled, Archived: true, Keep: true})
	f.message(events.Message{Kind: events.KindChannelUpdated, ChannelID: []byte("c"), IDs: idsOf([]string{"acme"}), Archived: true})
	if got := f.format(t); got != identity.CustomizedFormat {
		t.Errorf("with more the format is %d", got)
	}
	for key, want := range map[string]string{
		"Cc\x00p\x00\x00\x00\x00": "03616e6ea100040436882703626f62b100010c04c0070100d00f8090e4c004",
		"Cc\x00obob":              "00026d390204686f6d6504776f726b",
		"Cc\x00c":                 "100000000002020201010461636d65",
	} {
		if got := hex.EncodeToString(mustStored(t, p, key)); got != want {
			t.Errorf("%q is %s, want %s", key, got, want)
		}
	}
	for _, user := range []string{"ann", "bob"} {
		f.setting("c", user, events.Read{Kind: events.KindUserErased})
	}
	f.message(events.Message{Kind: events.KindChannelUpdated, ChannelID: []byte("c")})
	if got := f.format(t); got != identity.FormatVersion {
		t.Errorf("with nothing left of it the format is %d", got)
	}
	if _, _, err := p.db.Get([]byte("Cc\x00obob")); err == nil {
		t.Error("the erased user's line is still stored")
	}
}

// TestSaidOfColdChannels: a channel that only chat.reads names keeps nothing in memory. It is
// counted as cold, and is loaded by the first event that names the channel.
func TestSaidOfColdChannels(t *testing.T) {
	fs := vfs.NewMem()
	p := mustOpen(t, fs, testIdentity())
	f := &feed{p: p, now: 1000}
	f.setting("c", "ann", events.Read{Kind: events.KindNotifySet, Level: events.LevelMentions})
	f.setting("c", "ann", events.Read{Kind: events.KindLineSet, Seq: 7})
	for range 3 {
		f.format(t)
	}
	if n := p.Stats().Pairs; n != 0 {
		t.Errorf("%d pairs are in memory", n)
	}
	for range 2 {
		if got := f.format(t); got != identity.CustomizedFormat {
			t.Errorf("the format is %d while the channel is cold", got)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		p = mustOpen(t, fs, testIdentity())
		f.p = p
	}
	defer func() { p.Close() }()
	f.join("c", "ann")
	v, ok := p.View("ann", "c")
	if !ok || v.Level != events.LevelMentions || v.Line.Seq != 7 {
		t.Errorf("ann sees %+v, %t", v, ok)
	}
	f.setting("c", "ann", events.Read{Kind: events.KindUserErased})
	if got := f.format(t); got != identity.FormatVersion {
		t.Errorf("the format is %d after the erasure", got)
	}
}
