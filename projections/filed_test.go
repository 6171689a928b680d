package projections

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// published drains, and returns the filing in each delta.
func (f *feed) published(t *testing.T) (out []string) {
	t.Helper()
	var d Deltas
	f.p.Drain(&d, true)
	for _, r := range d.Records {
		var m events.UnreadDelta
		if r.Topic != OutUnread {
			continue
		}
		if err := events.DecodeUnreadDelta(r.Value, &m); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s: %t up to %d", m.UserID, m.Filed.Is, int32(m.Filed.Pos)))
	}
	return out
}

// TestFiledInLargeChannels: messages of others make no delta, except the one that decides which
// messages are later than the filing, however the channel came into memory.
func TestFiledInLargeChannels(t *testing.T) {
	file := events.Read{Kind: events.KindChannelFiled, Archived: true}
	for _, c := range []struct {
		name    string
		between func(t *testing.T, f *feed)
	}{
		{"at once", func(*testing.T, *feed) {}},
		{"cold meanwhile", func(t *testing.T, f *feed) {
			for range 3 {
				f.store(t)
			}
			if n := f.p.Stats().Pairs; n != 0 {
				t.Errorf("%d pairs are in memory", n)
			}
		}},
		{"lapsed meanwhile", func(_ *testing.T, f *feed) {
			f.now += 8 * 24 * 3600 * 1000
			f.post("another", "x", "bob", "")
			f.now = 1000 // a late event, but no later than the filing
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := testIdentity()
			id.Settings.FanoutLimit = 0
			p := mustOpen(t, vfs.NewMem(), id)
			defer p.Close()
			f := &feed{p: p, now: 1000}
			f.setting("c", "ann", file)
			c.between(t, f)
			f.join("c", "ann", "bob")
			f.published(t)
			for i, want := range []string{"[bob: false up to 0]", "[bob: false up to 0 ann: true up to 1]", "[bob: false up to 0]"} {
				if i > 0 && c.name != "lapsed meanwhile" {
					f.now = 1001
				}
				f.post("c", fmt.Sprint("m", i), "bob", "")
				got := fmt.Sprint(f.published(t))
				if c.name == "lapsed meanwhile" { // the first message is already later
					want = []string{"[bob: false up to 0 ann: true up to 0]", "[bob: false up to 0]", "[bob: false up to 0]"}[i]
				}
				if got != want {
					t.Errorf("message %d: told %s, want %s", i, got, want)
				}
			}
		})
	}
}

// TestFiledRemembersWhereItLooked: for a user who files a channel and posts repeatedly, each post
// costs the same, because messages that are not news are not examined again.
func TestFiledRemembersWhereItLooked(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p: p, now: 1000}
	f.join("c", "ann", "bob")
	f.setting("c", "ann", events.Read{Kind: events.KindChannelFiled, Archived: true, HeadSeq: 1})
	for i := range 100 {
		f.post("c", fmt.Sprint("m", i), "ann", "")
	}
	f.published(t)
	c := p.rules.Channels.At(p.rules.ChannelOf([]byte("c")))
	r := p.rules.PairOrNone(p.rules.ChannelOf([]byte("c")), "ann")
	settings := p.rules.ExtraSettings(r)
	if news := p.rules.News(c, r, &settings.Filed); news != 0 {
		t.Fatalf("message %d is news", news)
	}
	r.User = p.rules.UserOf([]byte("bob")) // all messages would be news for this user
	if news := p.rules.News(c, r, &settings.Filed); news != 0 {
		t.Errorf("message %d was looked at again", news)
	}
	r.User = p.rules.UserOf([]byte("ann"))
	f.post("c", "n", "bob", "")
	if news := p.rules.News(c, r, &settings.Filed); news != 101 {
		t.Errorf("message %d is news, want 101", news)
	}
	if v, _ := p.View("ann", "c"); v.Filed != (events.Filed{Is: true, Pos: 100}) || v.Archived {
		t.Errorf("ann sees %+v", v)
	}
}

// TestFiledIsToldWithTheHead: while the fan-out of a small channel waits, the channel record is
// published first. With it, a delta for each user who filed the channel states the head up to which
// there is no news. Otherwise readers would list the channel among the others until the fan-out,
// and then move it back.
func TestFiledIsToldWithTheHead(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p: p, now: 1000}
	f.join("c", "ann", "bob", "eve", "joe")
	f.setting("c", "ann", events.Read{Kind: events.KindChannelFiled, Archived: true})             // messages of this time are not later
	f.setting("c", "bob", events.Read{Kind: events.KindChannelFiled, Archived: true, HeadSeq: 9}) // the stated head is far ahead
	f.setting("c", "eve", events.Read{Kind: events.KindChannelFiled, Archived: true, Keep: true})
	f.published(t)
	published := func() (out []string) {
		var d Deltas
		p.Drain(&d, false)
		p.DrainRecords(&d)
		for _, r := range d.Records {
			switch r.Topic {
			case OutUnread:
				var m events.UnreadDelta
				if err := events.DecodeUnreadDelta(r.Value, &m); err != nil {
					t.Fatal(err)
				}
				out = append(out, fmt.Sprintf("%s up to %d", m.UserID, m.Filed.Pos))
			case OutChannels:
				var m events.ChannelRecord
				if err := events.DecodeChannelRecord(r.Value, &m); err != nil {
					t.Fatal(err)
				}
				out = append(out, fmt.Sprintf("head at %d", m.HeadPos))
			}
		}
		return out
	}
	f.post("c", "m1", "joe", "")
	if got, want := fmt.Sprint(published()), "[joe up to 0 ann up to 1 bob up to 1 head at 1]"; got != want {
		t.Errorf("with a message that is not later: %s, want %s", got, want)
	}
	f.now = 1001
	f.message(events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: []byte("m2"), HiddenFrom: idsOf([]string{"ann"}), SenderID: []byte("joe")})
	if got, want := fmt.Sprint(published()), "[joe up to 0 ann up to 2 bob up to 2 head at 2]"; got != want {
		t.Errorf("with a message that is hidden from ann: %s, want %s", got, want)
	}
	f.post("c", "m3", "joe", "")
	if got, want := fmt.Sprint(published()), "[joe up to 0 bob up to 3 head at 3]"; got != want {
		t.Errorf("with news for ann: %s, want %s", got, want)
	}
}
