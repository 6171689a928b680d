package wire

import (
	"sync"

	"github.com/tidemark/tidemark/gateway/internal/frames"
)

// Item is a frame that waits to be written.
type Item struct {
	// Key names the value that the frame tells: a later frame with the same key replaces it. Empty:
	// the frame tells no value, and is written whatever comes behind it.
	Key           string
	*frames.Frame        // nil: a later one has replaced it
	Channel       string // if only the members of a channel may see the frame; else empty
	Inbox         bool   // the frame is a whole inbox, which tells of every channel
	// Message and Reader are pointers of the caller: the message that the frame brings, and the
	// member to whom. Settings.Taken gets them back. Message is nil if no delivery is to be
	// reported.
	Message, Reader any
}

// Sent calls what is to be called once a device has taken the frames.
func Sent(batch []Item) {
	for i := range batch {
		if f := batch[i].Frame; f != nil && f.Sent != nil {
			f.Sent()
		}
	}
}

// queue is what a connection has still to take. Conn bounds its bytes. A frame with a key replaces
// the queued one with the same key and goes to the end: so the last frame that is written, totals
// included, is the newest.
type queue struct {
	items []Item
	index map[string]int // of keys; nil while there are few frames: most queues never hold more
	bytes int
	dead  int // items that were replaced
}

// maxUnindexed is up to how many frames a key is searched for one by one.
const maxUnindexed = 16

// overhead is about what a waiting frame costs beside its bytes.
const overhead = 96

func (q *queue) add(it Item) {
	if it.Key != "" {
		if i, ok := q.find(it.Key); ok {
			q.bytes -= q.items[i].Size + overhead
			q.items[i] = Item{}
			q.dead++
			if q.dead > 32 && q.dead > len(q.items)/2 {
				q.compact()
			}
		}
		if q.index == nil && len(q.items) >= maxUnindexed {
			q.reindex()
		}
		if q.index != nil {
			q.index[it.Key] = len(q.items)
		}
	}
	if q.items == nil {
		q.items = *lists.Get().(*[]Item)
	}
	q.items = append(q.items, it)
	q.bytes += it.Size + overhead
}

// lists is memory for the frames of a queue or a write. A queue without frames has none.
var lists = sync.Pool{New: func() any { l := make([]Item, 0, maxUnindexed); return &l }}

// recycle gives back the memory of a list that take returned.
func recycle(list []Item) {
	if cap(list) > 256 {
		return
	}
	clear(list)
	list = list[:0]
	lists.Put(&list)
}

func (q *queue) find(key string) (int, bool) {
	if q.index != nil {
		i, ok := q.index[key]
		return i, ok
	}
	for i := range q.items {
		if q.items[i].Key == key && q.items[i].Frame != nil {
			return i, true
		}
	}
	return 0, false
}

// reindex notes where each key is.
func (q *queue) reindex() {
	q.index = make(map[string]int, len(q.items)+8)
	for i := range q.items {
		if q.items[i].Key != "" {
			q.index[q.items[i].Key] = i
		}
	}
}

func (q *queue) compact() {
	live := q.items[:0]
	for _, it := range q.items {
		if it.Frame != nil {
			live = append(live, it)
		}
	}
	clear(q.items[len(live):])
	q.items, q.dead = live, 0
	q.reindex()
}

// take removes and returns the first frames: about limit bytes, and at least one frame. What stays
// can still be replaced. The caller recycles the list.
func (q *queue) take(limit int) []Item {
	if len(q.items) > 0 && q.dead == 0 && q.bytes-overhead*len(q.items) <= limit {
		list := q.items // all of them, as they are
		q.clear()
		return list
	}
	n, bytes := 0, 0
	list := *lists.Get().(*[]Item)
	for ; n < len(q.items) && (bytes == 0 || bytes < limit); n++ {
		if it := q.items[n]; it.Frame != nil {
			list = append(list, it)
			bytes += it.Size
			q.bytes -= it.Size + overhead
		} else {
			q.dead--
		}
	}
	if n == len(q.items) {
		recycle(q.items)
		q.clear()
		return list
	}
	q.items = append(q.items[:0:0], q.items[n:]...)
	q.index = nil
	if len(q.items) >= maxUnindexed {
		q.reindex()
	}
	return list
}

// dropValues removes the values, which a fresh inbox replaces, and an inbox that still waits:
// behind the fresh one it would bring back older values. It removes the other frames, too, and
// returns them.
func (q *queue) dropValues() (rest []Item) {
	for _, it := range q.items {
		if it.Frame != nil && it.Key == "" && !it.Inbox {
			rest = append(rest, it)
		}
	}
	q.clear()
	return rest
}

// dropChannel removes what tells of a channel. An inbox that waits tells of it, too: dropChannel
// removes it with the values that were to follow it, and reports that another one is needed.
func (q *queue) dropChannel(id string) (another bool) {
	kept := *q
	q.clear()
	for _, it := range kept.items {
		another = another || it.Inbox
	}
	for _, it := range kept.items {
		if it.Frame != nil && it.Channel != id && !it.Inbox && (!another || it.Key == "") {
			q.add(it)
		}
	}
	return another
}

// clear forgets everything, and gives the memory back.
func (q *queue) clear() { *q = queue{} }

func (q *queue) empty() bool { return len(q.items) == q.dead }
