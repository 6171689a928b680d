package receipts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway/internal/frames"
)

// most is how many users wait in one channel, at most; only small channels have receipts.
const most = 1_000

// Waiting holds the receipts of one kind in one channel until the next frame. The zero Waiting is
// empty.
type Waiting struct {
	of map[string]*eventsv1.Receipt // by user, the furthest; if each message counts by itself, by user and message
}

// Len returns how many wait.
func (w *Waiting) Len() int { return len(w.of) }

// Add adds receipts. A receipt covers earlier ones of the same user, unless each is true: a user
// who viewed a message has not viewed those before it.
func (w *Waiting) Add(list []*eventsv1.Receipt, each bool) {
	if w.of == nil && len(list) > 0 {
		w.of = map[string]*eventsv1.Receipt{}
	}
	for _, r := range list {
		key := r.UserId
		if each {
			key += "\x00" + r.MessageId
		} else if r.WithThreads {
			key += "\x00" // a further read without its threads does not cover these
		}
		old := w.of[key]
		if (old == nil && len(w.of) < most) || (old != nil && r.Seq >= old.Seq) {
			w.of[key] = r
		}
	}
}

// Frame returns a frame with all waiting receipts, ordered by user and seq, and empties Waiting.
func (w *Waiting) Frame(kind, channel string) *frames.Frame {
	list := make([]*eventsv1.Receipt, 0, len(w.of))
	for _, r := range w.of {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *eventsv1.Receipt) int {
		return cmp.Or(strings.Compare(a.UserId, b.UserId), cmp.Compare(a.Seq, b.Seq))
	})
	w.of = nil
	return frames.Lazy(64+120*len(list), func() []byte {
		b := frames.Text(frames.Begin(make([]byte, 0, 64+120*len(list)), kind), "channel_id", channel)
		return append(frames.Readers(b, list), '}')
	})
}
