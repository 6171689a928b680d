package views

import (
	"cmp"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/receipts"
)

// Receipt is the receipt of one recipient of a message. Times are in Unix milliseconds. A time is 0
// if it is unknown; times are kept for 90 days of log time.
type Receipt struct {
	UserID      string
	Delivered   bool // also if read
	Read        bool
	DeliveredAt int64
	ReadAt      int64
	Viewed      bool // played or opened
	ViewedAt    int64
}

// recipient is a recipient on the page, whose times are part of the answer.
type recipient struct {
	ends int // end of the id in ReceiptsMemory.users
	id   string
	ord  uint32
	own  uint32 // their newest own post in the message's scope, if it is after the message; 0 = none

	read, got, viewed report
}

// report states whether something happened, and its earliest known time.
type report struct {
	is, timed bool
	at        int64
}

func (t *report) note(at int64) {
	if !t.timed || at < t.at {
		t.at = at
	}
	t.is, t.timed = true, true
}

// take applies an entry to the answer. The order of entries does not matter.
func (w *ReceiptsWalk) take(a *receipts.Entry) {
	page, bit := a.Ord/keys.PageLen, uint64(1)<<(a.Ord%keys.PageLen)
	whole := a.Kind == receipts.WithThreads // reads all threads; a read of the channel is stored separately
	read := a.Kind == receipts.Read || a.Kind == receipts.Single || whole
	switch {
	case int(page) >= len(w.asked) || w.asked[page]&bit == 0:
	case a.Kind == receipts.Viewed:
		if a.Seq == w.v.Seq && w.views {
			w.takeView(a, page, bit)
		}
	case w.sure[page]&bit != 0, whole && !w.inThread:
	case a.Seq < w.v.Seq || (a.Seq > w.v.Seq && a.Kind != receipts.Read && a.Kind != receipts.DeliveredTo && !whole):
	case read && !whole && (a.Thread != w.thread || w.inThread != (w.thread != 0)):
	case !read && !w.small:
	case w.unsure[page]&bit == 0:
		if x, at := w.recipient(a.Ord), max(a.At, w.at); read {
			x.read.note(at)
		} else {
			x.got.note(at)
		}
	case read:
		w.read[page] |= bit
	default:
		w.got[page] |= bit
	}
}

// takeView records that a recipient viewed the message, which implies that they read it.
func (w *ReceiptsWalk) takeView(a *receipts.Entry, page uint32, bit uint64) {
	switch {
	case w.sure[page]&bit != 0:
		w.viewed[page] |= bit
	case w.unsure[page]&bit != 0:
		w.read[page] |= bit
		w.viewed[page] |= bit
	default:
		x, at := w.recipient(a.Ord), max(a.At, w.at)
		x.read.note(at)
		x.viewed.note(at)
	}
}

// recipient returns the listed recipient with an ordinal.
func (w *ReceiptsWalk) recipient(ord uint32) *recipient {
	i, _ := slices.BinarySearchFunc(w.listed, ord, func(x recipient, ord uint32) int { return cmp.Compare(x.ord, ord) })
	return &w.listed[i]
}

// receipt returns the result for a recipient. A read implies a delivery at its time, unless an
// earlier delivery is known.
func (x *recipient) receipt() Receipt {
	v := Receipt{
		UserID: x.id, Read: x.read.is, ReadAt: x.read.at, Delivered: x.read.is, DeliveredAt: x.read.at,
		Viewed: x.viewed.is, ViewedAt: x.viewed.at,
	}
	if x.got.is && (!x.read.is || x.got.at < x.read.at) {
		v.Delivered, v.DeliveredAt = true, x.got.at
	}
	return v
}
