package projections

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// withThreads reads a channel and its threads up to a message.
func (f *feed) withThreads(user, id string, private bool) {
	f.setting("c", user, events.Read{Kind: events.KindReadUpTo, Target: events.TargetMessageID, MessageID: []byte(id), WithThreads: true, Private: private})
}

func (f *feed) markInThread(user, thread, id string) {
	f.setting("c", user, events.Read{Kind: events.KindMarkedUnread, ThreadID: []byte(thread), MessageID: []byte(id)})
}

// TestWithThreadsFormats pins the bytes of reads of a channel with its threads: one record for the
// channel, one more for each thread with marks, and an entry in the blocks of receipts.
func TestWithThreadsFormats(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p: p, now: 1000}
	f.join("c", "ann", "bob")
	f.post("c", "m1", "ann", "")
	f.post("c", "r1", "bob", "m1")
	f.post("c", "r2", "bob", "m1")
	if got := f.format(t); got != identity.FormatVersion {
		t.Errorf("without such reads the format is %d", got)
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
	const channel, thread = "Cc\x00kann", "Cc\x00Kann\x00m1"
	f.withThreads("ann", "r1", true)
	if got := f.format(t); got != identity.CustomizedFormat {
		t.Errorf("with such a read the format is %d", got)
	}
	has(channel, "02000000")
	has(thread, "")
	f.withThreads("ann", "r2", false)
	has(channel, "03010300")
	has("Rc\x00\x00\x00\x00\x00\x00\x00\x00\x00", "d00f0200801400")
	f.markInThread("ann", "m1", "r2")
	has(channel, "03010300")
	has(thread, "00000002") // the mark took them back
	f.withThreads("ann", "r1", false)
	has(channel, "03010300")
	has(thread, "02030002")
	f.withThreads("ann", "late", false)
	f.store(t)
	if open := mustStored(t, p, "Cc\x00rann"); open[0] != 1 || open[3] != 7 {
		t.Errorf("what waits is %x", open)
	}
	f.markInThread("ann", "m1", "r1")
	f.withThreads("ann", "r2", false)
	f.markInThread("ann", "m1", "later") // it waits
	f.withThreads("ann", "r2", false)
	f.store(t)
	var extra state.PairExtra
	if err := records.DecodeUnsettled(&extra, mustStored(t, p, "Cc\x00Wann\x00m1")); err != nil {
		t.Fatal(err)
	}
	if list := extra.Unsettled; len(list) != 2 || list[0].Kind != held.KindMark || list[1].Kind != held.KindWithThreads || list[1].Seq != 3 || list[1].Offset != 8 {
		t.Errorf("the thread holds %+v", list)
	}
	f.setting("c", "ann", events.Read{Kind: events.KindUserErased})
	has(channel, "")
	has(thread, "")
}

// TestWithThreadsIsBounded: a user who repeatedly reads with threads has one record for it, no rows
// in threads, and deltas only of the threads with something new.
func TestWithThreadsIsBounded(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p: p, now: 1000}
	f.join("c", "ann", "bob")
	f.post("c", "root1", "ann", "")
	f.post("c", "root2", "ann", "")
	f.post("c", "root3", "bob", "")
	f.post("c", "r1", "bob", "root1")
	f.post("c", "r2", "bob", "root2")
	f.post("c", "r3", "bob", "root3")
	for i := range 20 { // threads without further replies
		f.post("c", fmt.Sprintf("quiet%d", i), "ann", "")
		f.post("c", fmt.Sprintf("quiet%d-1", i), "bob", fmt.Sprintf("quiet%d", i))
	}
	for i := range 200 {
		id := fmt.Sprintf("m%03d", i)
		f.post("c", id, "bob", "")
		thread := 0
		if i%10 == 0 {
			f.post("c", fmt.Sprintf("s%03d", i), "bob", "root2")
			id = fmt.Sprintf("s%03d", i)
		}
		var d Deltas
		p.Drain(&d, true)
		d = Deltas{}
		f.withThreads("ann", id, false)
		if n := len(p.rules.OutRows); i > 0 && n > 2 { // the channel, and one thread with something new
			t.Errorf("read %d has %d rows looked at", i, n)
		}
		p.Drain(&d, true)
		for _, r := range d.Records {
			if _, _, of, ok := events.SplitUnreadKey(r.Key); r.Topic == OutUnread && ok && len(of) > 0 {
				thread++
			}
		}
		want := 0
		if i%10 == 0 {
			want = 1
		}
		if i == 0 {
			want = 22 // the first read reaches all of them
		}
		if thread != want {
			t.Errorf("read %d makes %d deltas of threads, want %d", i, thread, want)
		}
	}
	if ti := p.rules.ThreadOf(p.rules.ChannelOf([]byte("c")), []byte("root3")); p.rules.ThreadRowOf(ti, p.rules.UserOf([]byte("ann"))) != 0 {
		t.Error("there is a row in a thread that ann did nothing in")
	}
	f.store(t)
	if n := len(mustStored(t, p, "Cc\x00kann")); n > 8 {
		t.Errorf("the record has %d bytes", n)
	}
}
