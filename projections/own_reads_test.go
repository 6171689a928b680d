package projections

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// countedReads counts the records that are read from a store.
type countedReads struct {
	state.Backing
	n int
}

func (c *countedReads) Stored(key []byte) (val []byte, ok bool, err error) {
	c.n++
	return c.Backing.Stored(key)
}

// TestOwnPostsAreReadOnce: while a mark is held, each evaluation needs the newest own post before
// its head. However many own posts follow it, the log is read for them once, whether sending reads
// by the setting or because each post states it.
func TestOwnPostsAreReadOnce(t *testing.T) {
	const posts, more = 800, 50
	mark := events.Read{Kind: events.KindMarkedUnread, MessageID: []byte("m6"), HeadSeq: 5} // instead of seq 10: the pointer is before it
	for name, hold := range map[string]func(f *feed){
		"behind an open read": func(f *feed) {
			f.setting("c", "ann", events.Read{Kind: events.KindReadUpTo, Target: events.TargetMessageID, MessageID: []byte("unknown")})
			f.setting("c", "ann", mark)
		},
		"provisional": func(f *feed) {
			of := mark
			of.MessageID, of.Seq = []byte("unknown"), 3
			f.setting("c", "ann", of)
		},
	} {
		for _, setting := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, setting %t", name, setting), func(t *testing.T) {
				id := testIdentity()
				id.Settings.SendMarksRead = setting
				p := mustOpen(t, vfs.NewMem(), id)
				defer p.Close()
				f := &feed{p: p, now: 1000}
				f.message(events.Message{Kind: events.KindMessagesSeeded, ChannelID: []byte("c"), Count: 4})
				f.join("c", "ann", "bob")
				for i := range posts {
					f.postWithReads(events.Yes, "c", fmt.Sprint("m", i+1), "ann", "")
				}
				f.store(t)
				hold(f)
				counted := &countedReads{Backing: p.rules.Backing}
				p.rules.Backing = counted
				for i := range more {
					f.postWithReads(events.Yes, "c", fmt.Sprint("n", i+1), "ann", "")
				}
				if counted.n > posts+more {
					t.Errorf("%d posts read %d blocks of the log", more, counted.n)
				}
				c := p.rules.ChannelOf([]byte("c"))
				s := p.rules.PointerOf(p.rules.Channels.At(c), p.rules.PairOrNone(c, "ann"))
				if s.Pointer != 4+posts+more {
					t.Errorf("the pointer is at %d", s.Pointer)
				}
			})
		}
	}
}
