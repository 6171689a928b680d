package wire

import (
	"sync"

	"github.com/tidemark/tidemark/gateway/internal/frames"
)

// Item is a frame that waits to be written.
type Item struct {
	// Key identifies the value in the frame: a later frame with the same key replaces it. An empty
	// key means that the frame has no value, and is always written.
	Key           string
	*frames.Frame        // nil: a later one has replaced it
	Channel       string // the channel whose members alone may see the frame, or empty
	Inbox         bool   // the frame is a whole inbox, which includes every channel
	// Message and Reader are pointers of the caller: the message in the frame and its recipient.
	// Settings.Taken gets them back. Message is nil if no delivery is to be reported.
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
	index map[string]int // index by key; nil while there are few frames, as in most queues
	bytes int
	dead  int // replaced items
}

// maxUnindexed is the number of frames up to which a key is searched linearly.
const maxUnindexed = 16

// overhead is the approximate cost of a waiting frame besides its bytes.
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

// lists holds memory for the frames of a queue or a write. A queue without frames has none.
var lists = sync.Pool{New: func() any { l := make([]Item, 0, maxUnindexed); return &l }}

// recycle takes back the memory of a list that take returned.
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

// reindex rebuilds the index.
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

// take removes and returns the first frames: about limit bytes, at least one frame. Remaining
// frames can still be replaced. The caller recycles the list.
func (q *queue) take(limit int) []Item {
	if len(q.items) > 0 && q.dead == 0 && q.bytes-overhead*len(q.items) <= limit {
		list := q.items // the whole list
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

// dropValues removes values, which a fresh inbox replaces, and a waiting inbox, which would bring
// back older values after the fresh one. It also removes the other frames, and returns them.
func (q *queue) dropValues() (rest []Item) {
	for _, it := range q.items {
		if it.Frame != nil && it.Key == "" && !it.Inbox {
			rest = append(rest, it)
		}
	}
	q.clear()
	return rest
}

// dropChannel removes the frames about a channel. A waiting inbox includes the channel too:
// dropChannel removes it with the values that were to follow it, and reports that another one is
// needed.
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

// clear empties the queue and frees its memory.
func (q *queue) clear() { *q = queue{} }

func (q *queue) empty() bool { return len(q.items) == q.dead }
