package projections

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestWhatIsSaidIsSmallOnDisk: a level with its end, a flag or a filing adds at most 16 bytes a
// pair to the records of a store, before any compression.
func TestWhatIsSaidIsSmallOnDisk(t *testing.T) {
	const channels, most = 200, 16
	users := []string{"ann", "bob"}
	size := func(settings *events.Read) int {
		p := mustOpen(t, vfs.NewMem(), testIdentity())
		defer p.Close()
		f := &feed{p: p, now: 1_763_000_000_000}
		for c := range channels {
			ch := fmt.Sprintf("channel-%03d", c)
			f.join(ch, users...)
			f.post(ch, ch+"-1", "ann", "")
			for _, user := range users {
				f.setting(ch, user, events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: 1})
			}
			for i, user := range users {
				if settings == nil { // a plain read instead: both stores fold as many events
					f.setting(ch, user, events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: 1})
					continue
				}
				one := *settings
				if one.Until != 0 {
					one.Until = f.now + int64(c*len(users)+i+1)*3_600_000 // each ends at a time of its own
				}
				f.setting(ch, user, one)
			}
		}
		f.store(t)
		return storedBytes(t, p)
	}
	plain := size(nil)
	for name, r := range map[string]events.Read{
		"a level":           {Kind: events.KindNotifySet, Level: events.LevelMentions},
		"a level that ends": {Kind: events.KindNotifySet, Level: events.LevelMentions, Until: 1},
		"a flag":            {Kind: events.KindFlagSet, Flagged: true},
		"a filing":          {Kind: events.KindChannelFiled, Archived: true},
	} {
		got := float64(size(&r)-plain) / float64(channels*len(users))
		t.Logf("%s: %.2f bytes a pair", name, got)
		if got <= 0 || got > most {
			t.Errorf("%s adds %.2f bytes a pair, want at most %d", name, got, most)
		}
	}
}

// storedBytes is the size of all keys and values of a store, uncompressed.
func storedBytes(t *testing.T, p *Partition) (n int) {
	t.Helper()
	it, err := p.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for it.First(); it.Valid(); it.Next() {
		n += len(it.Key()) + len(it.Value())
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestHiddenMessagesCostWhatSingleReadsDo: hiding some messages adds no more to a store than
// reading them singly.
func TestHiddenMessagesCostWhatSingleReadsDo(t *testing.T) {
	const channels = 200
	size := func(settings events.Read) int {
		p := mustOpen(t, vfs.NewMem(), testIdentity())
		defer p.Close()
		f := &feed{p: p, now: 1_763_000_000_000}
		for c := range channels {
			ch := fmt.Sprintf("channel-%03d", c)
			f.join(ch, "ann", "bob")
			for i := range 30 {
				f.post(ch, fmt.Sprint("m", i), "bob", "")
			}
			f.setting(ch, "ann", settings)
		}
		f.store(t)
		return storedBytes(t, p)
	}
	some := [][]byte{[]byte("m3"), []byte("m4"), []byte("m9"), []byte("m28")}
	plain := size(events.Read{Kind: events.KindLabelsSet}) // changes nothing
	each := func(r events.Read) float64 { return float64(size(r)-plain) / channels }
	read := each(events.Read{Kind: events.KindMessagesRead, IDs: some})
	hidden := each(events.Read{Kind: events.KindMessagesHidden, IDs: some})
	cleared := each(events.Read{Kind: events.KindMessagesHidden, Seq: 25})
	t.Logf("four messages read singly: %.2f bytes a pair, hidden: %.2f; a channel cleared: %.2f", read, hidden, cleared)
	if read <= 0 || hidden <= 0 || hidden > read+2 {
		t.Errorf("four messages read singly are %.2f bytes, hidden %.2f", read, hidden)
	}
	if cleared <= 0 || cleared > 32 {
		t.Errorf("a channel that is cleared has %.2f bytes more", cleared)
	}
}
