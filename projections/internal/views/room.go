package views

import "sync"

// ViewRoom is memory for views that is made before the lock is taken: who allocates under it may
// have to work for the collector, and whoever folds would wait for that. The zero ViewRoom has
// none, and views make their own.
type ViewRoom struct {
	channels []View
	threads  []ThreadView
	wanted   []wantedText
	order    []wantedPlace
	keys     []byte
}

// wantedPerView is how many messages a view names at most, logKeyBytes the room for a key of the
// log that pays.
const (
	wantedPerView = 4
	logKeyBytes   = 40
)

// viewRooms has what Free left: the room for a page of 1,000 threads takes half a megabyte.
var viewRooms = sync.Pool{New: func() any { return &ViewRoom{} }}

// Reserve makes room for so many views of channels and of threads.
func (r *ViewRoom) Reserve(channels, threads int) {
	if cap(r.wanted) == 0 {
		*r = *viewRooms.Get().(*ViewRoom)
	}
	if cap(r.channels)-len(r.channels) < channels {
		r.channels = make([]View, 0, channels)
	}
	if cap(r.threads)-len(r.threads) < threads {
		r.threads = make([]ThreadView, 0, threads)
	}
	r.reserveTexts(wantedPerView * (channels + threads))
}

// Free leaves the room to the views that come. Those that were made in it are not valid any more,
// and all of them have ended.
func (r *ViewRoom) Free() {
	if cap(r.wanted) == 0 {
		return
	}
	clear(r.channels)
	clear(r.threads)
	free := *r
	free.channels, free.threads = r.channels[:0], r.threads[:0]
	viewRooms.Put(&free)
	*r = ViewRoom{}
}

func (r *ViewRoom) reserveTexts(n int) {
	if cap(r.wanted) < n {
		r.wanted = make([]wantedText, 0, n)
	}
	if cap(r.keys) < n*logKeyBytes {
		r.keys = make([]byte, 0, n*logKeyBytes)
	}
}

// take is the next view that there is room for.
func take[T any](room *[]T) *T {
	n := len(*room)
	if n == cap(*room) {
		return new(T)
	}
	*room = (*room)[:n+1]
	return &(*room)[n]
}

// key is empty, and has room for the key of a block of a channel whose id has so many bytes; nil
// where there is none.
func (r *ViewRoom) key(id int) []byte {
	from, to := len(r.keys), len(r.keys)+1+id+1+4
	if to > cap(r.keys) {
		return nil
	}
	r.keys = r.keys[:to]
	return r.keys[from:from:to]
}

// reuse takes back what views that have ended do not need any more.
func (r *ViewRoom) reuse(v *Views) {
	clear(v.Wanted)
	r.wanted, r.keys = v.Wanted[:0], r.keys[:0]
}
