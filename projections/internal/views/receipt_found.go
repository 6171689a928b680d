package views

import (
	"cmp"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/receipts"
)

// Receipt is what is known of one recipient of a message. A time is in Unix milliseconds and 0
// where it is not told: times are kept for 90 days of log time.
type Receipt struct {
	UserID      string
	Delivered   bool // also if read
	Read        bool
	DeliveredAt int64
	ReadAt      int64
	Viewed      bool // played or opened
	ViewedAt    int64
}

// recipient is one whose times are told.
type recipient struct {
	ends int // where its id ends in ReceiptsRoom.users
	id   string
	ord  uint32
	own  uint32 // their newest own post in the message's scope, if it is beyond the message; 0 = none

	read, got, viewed report
}

// report is whether something was said, and the earliest time that was stated with it.
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

// take notes what an entry says of the message, in any order.
func (w *ReceiptsWalk) take(a *receipts.Entry) {
	page, bit := a.Ord/keys.PageLen, uint64(1)<<(a.Ord%keys.PageLen)
	whole := a.Kind == receipts.WithThreads // of all threads; the channel has a read beside it
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

// takeView notes that a recipient viewed the message, which says that they read it.
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

// recipient is the one with an ordinal, who is listed.
func (w *ReceiptsWalk) recipient(ord uint32) *recipient {
	i, _ := slices.BinarySearchFunc(w.listed, ord, func(x recipient, ord uint32) int { return cmp.Compare(x.ord, ord) })
	return &w.listed[i]
}

// receipt is what was found of a recipient. A read is a delivery, of its time if nothing else says
// an earlier one.
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
