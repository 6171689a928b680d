package views

import "sync"

// ViewMemory is memory for views that is allocated before the lock is taken. A goroutine that
// allocates under the lock may have to assist the garbage collector, and the fold would wait for
// that. The zero ViewMemory is empty; views then allocate their own memory.
type ViewMemory struct {
	channels []View
	threads  []ThreadView
	wanted   []wantedText
	order    []wantedPlace
	keys     []byte
}

// wantedPerView is the largest number of messages that a view names; logKeyBytes is the usual
// length of a log key.
const (
	wantedPerView = 4
	logKeyBytes   = 40
)

// viewMemories holds freed rooms: the memory for a page of 1,000 threads takes half a megabyte.
var viewMemories = sync.Pool{New: func() any { return &ViewMemory{} }}

// Reserve allocates memory for this many views of channels and of threads.
func (r *ViewMemory) Reserve(channels, threads int) {
	if cap(r.wanted) == 0 {
		*r = *viewMemories.Get().(*ViewMemory)
	}
	if cap(r.channels)-len(r.channels) < channels {
		r.channels = make([]View, 0, channels)
	}
	if cap(r.threads)-len(r.threads) < threads {
		r.threads = make([]ThreadView, 0, threads)
	}
	r.reserveTexts(wantedPerView * (channels + threads))
}

// Free makes the room available to later views. All views in it must have ended, and become
// invalid.
func (r *ViewMemory) Free() {
	if cap(r.wanted) == 0 {
		return
	}
	clear(r.channels)
	clear(r.threads)
	free := *r
	free.channels, free.threads = r.channels[:0], r.threads[:0]
	viewMemories.Put(&free)
	*r = ViewMemory{}
}

func (r *ViewMemory) reserveTexts(n int) {
	if cap(r.wanted) < n {
		r.wanted = make([]wantedText, 0, n)
	}
	if cap(r.keys) < n*logKeyBytes {
		r.keys = make([]byte, 0, n*logKeyBytes)
	}
}

// take returns the next free element, or a new one.
func take[T any](buffer *[]T) *T {
	n := len(*buffer)
	if n == cap(*buffer) {
		return new(T)
	}
	*buffer = (*buffer)[:n+1]
	return &(*buffer)[n]
}

// key returns an empty slice with capacity for a log key of a channel whose id has this many bytes,
// or nil if the room has no more.
func (r *ViewMemory) key(id int) []byte {
	from, to := len(r.keys), len(r.keys)+1+id+1+4
	if to > cap(r.keys) {
		return nil
	}
	r.keys = r.keys[:to]
	return r.keys[from:from:to]
}

// reuse takes back the memory of views that have ended.
func (r *ViewMemory) reuse(v *Views) {
	clear(v.Wanted)
	r.wanted, r.keys = v.Wanted[:0], r.keys[:0]
}
