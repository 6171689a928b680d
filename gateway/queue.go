package gateway

import "sync"

// item is a frame that waits to be sent.
type item struct {
	key  string // of the value it is the newest of; empty: every such frame counts
	body []byte // shared between connections, never changed; nil: replaced by a later one
	// channel is what the frame is about, as far as only its members may see it.
	channel string
	inbox   bool // the frame is a whole inbox, which is about every channel
	// message is what the frame brings to reader, whose delivery is to be reported when the frame was sent. Nil: nothing
	// is to be reported.
	message *posted
	reader  *entry
}

// queue is what a connection has still to take. The bytes of its frames are bounded by its owner; a frame with a key
// replaces the one with the same key, and moves to the end: so what is sent last was true last, totals too.
type queue struct {
	items []item
	index map[string]int // of keys; made when there are more than a few frames, which most queues never hold
	bytes int
	dead  int // replaced items
}

// maxUnindexed is how many frames are searched one by one for a key.
const maxUnindexed = 16

// overhead is what a waiting frame costs beside its bytes, roughly.
const overhead = 96

func (q *queue) add(it item) {
	if it.key != "" {
		if i, ok := q.find(it.key); ok {
			q.bytes -= len(q.items[i].body) + overhead
			q.items[i] = item{}
			q.dead++
			if q.dead > 32 && q.dead > len(q.items)/2 {
				q.compact()
			}
		}
		if q.index == nil && len(q.items) >= maxUnindexed {
			q.reindex()
		}
		if q.index != nil {
			q.index[it.key] = len(q.items)
		}
	}
	if q.items == nil {
		q.items = *lists.Get().(*[]item)
	}
	q.items = append(q.items, it)
	q.bytes += len(it.body) + overhead
}

// lists is memory for the frames of a queue or a write, which exists only while there are some.
var lists = sync.Pool{New: func() any { l := make([]item, 0, maxUnindexed); return &l }}

// recycle gives memory back that take gave.
func recycle(list []item) {
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
		if q.items[i].key == key && q.items[i].body != nil {
			return i, true
		}
	}
	return 0, false
}

// reindex notes where each key is.
func (q *queue) reindex() {
	q.index = make(map[string]int, len(q.items)+8)
	for i := range q.items {
		if q.items[i].key != "" {
			q.index[q.items[i].key] = i
		}
	}
}

func (q *queue) compact() {
	live := q.items[:0]
	for _, it := range q.items {
		if it.body != nil {
			live = append(live, it)
		}
	}
	clear(q.items[len(live):])
	q.items, q.dead = live, 0
	q.reindex()
}

// take removes the first frames, up to about limit bytes and at least one. What stays can still be replaced. The list is
// the caller's, who recycles it.
func (q *queue) take(limit int) []item {
	if len(q.items) > 0 && q.dead == 0 && q.bytes-overhead*len(q.items) <= limit {
		list := q.items // all of them, as they are
		q.clear()
		return list
	}
	n, bytes := 0, 0
	list := *lists.Get().(*[]item)
	for ; n < len(q.items) && (bytes == 0 || bytes < limit); n++ {
		if it := q.items[n]; it.body != nil {
			list = append(list, it)
			bytes += len(it.body)
			q.bytes -= len(it.body) + overhead
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

// drop removes the values, which a fresh inbox replaces, and an inbox that still waits: behind the fresh one it would bring
// back what was.
func (q *queue) drop() {
	kept := *q
	q.clear()
	for _, it := range kept.items {
		if it.body != nil && it.key == "" && !it.inbox {
			q.add(it)
		}
	}
}

// dropChannel removes what is about a channel. An inbox that waits is about it too: then it goes, with the values that
// were to follow it, and the answer is that another one is needed.
func (q *queue) dropChannel(id string) (another bool) {
	kept := *q
	q.clear()
	for _, it := range kept.items {
		another = another || it.inbox
	}
	for _, it := range kept.items {
		if it.body != nil && it.channel != id && !it.inbox && (!another || it.key == "") {
			q.add(it)
		}
	}
	return another
}

// clear forgets everything, and gives the memory back.
func (q *queue) clear() { *q = queue{} }

func (q *queue) empty() bool { return len(q.items) == q.dead }
