package pending

import (
	"fmt"
	"testing"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// world is one channel with one user, whose events wait, and no store. It has at most a block of
// messages, so that all of them are in memory.
type world struct {
	Fold
	ci, ref uint32
}

// nothing is a store without records.
type nothing struct{}

func (nothing) Stored([]byte) (val []byte, ok bool, err error) { return nil, false, nil }
func (nothing) Scan([]byte, func(key, val []byte)) error       { return nil }
func (nothing) LoadCold(uint32, *state.Channel, []byte) error  { return nil }

func newWorld(change ...func(*identity.Settings)) *world {
	w := &world{}
	s := identity.DefaultSettings()
	for _, c := range change {
		c(&s)
	}
	w.Begin(s, nothing{})
	w.ci, _ = w.EnsureChannel([]byte("c"))
	w.ref, _ = w.EnsureRow(w.ci, w.EnsureUser([]byte("a")))
	return w
}

func (w *world) channel() *state.Channel { return w.Channels.At(w.ci) }

func (w *world) row() *state.Row { return w.Rows.At(w.ref) }

// extra returns the user's held events.
func (w *world) extra() *state.PairExtra { return w.EnsurePairExtra(w.row()) }

// post posts m1, m2 and so on, by the user or another one, and sets log time. It settles nothing.
func (w *world) post(own bool, at int64) uint32 {
	c := w.channel()
	seq := c.HeadSeq + 1
	w.MessageTime = max(w.MessageTime, at)
	if seq == 1 {
		c.FirstTime, c.Time = at, at
	}
	c.Time = max(c.Time, at)
	e := history.Entry{
		Seq: seq, Time: c.Time, LogTime: w.MessageTime, Offset: int64(seq) * 10, ID: fmt.Appendf(nil, "m%d", seq), Sender: []byte("b"),
	}
	if own {
		e.Sender, e.PrevOwn = []byte("a"), w.row().LastOwn
		w.NoteOwn(w.ref, w.row(), &e)
		if x := w.extra(); x.OwnKept { // as the rules do
			x.Own = append(x.Own, seq)
		}
	}
	c.HeadSeq, c.LogTime = seq, w.MessageTime
	w.AppendMessage(c, &e, state.IDHash(e.ID))
	return seq
}

// hold adds an event to the waiting ones, unless it is void on arrival, and settles them.
func (w *world) hold(h held.Event) bool {
	if !w.Resolve(w.channel(), w.row(), &h) {
		return false
	}
	x := w.extra()
	x.Unsettled = append(x.Unsettled, h)
	w.Settle(w.ref)
	return true
}

// event returns a read, a single read or a mark at a time. It names no message yet.
func event(kind uint8, offset, at int64) held.Event {
	return held.Event{Kind: kind, Offset: offset, At: at, Now: at, Horizon: at + LapseAfter}
}

func (w *world) pointer(t *testing.T, want uint32) {
	t.Helper()
	if got := w.row().Pointer; got != want {
		t.Errorf("the pointer is at %d, want %d", got, want)
	}
}
