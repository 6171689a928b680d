package sender

import "github.com/twmb/franz-go/pkg/kgo"

// group is how many records are loaded, sorted by lane, and then added, at a time. They stay in the
// CPU's caches meanwhile.
const group = 512

// sorting has the lanes of a call of Send, and the records that are added now by lane.
type sorting struct {
	lanes []*lane
	heads []int32 // place of the first record of each lane, -1: none
	tails []int32
	next  [group]int32 // place of the next record of the same lane, at place % group; -1: none
	place map[*lane]int
	one   kgo.Record // the record that is being added

	loaded byte // keeps load from being left out by the compiler
}

func newSorting() *sorting { return &sorting{place: map[*lane]int{}} }

func (w *sorting) clear() {
	clear(w.lanes)
	clear(w.place)
	w.one = kgo.Record{}
	w.lanes, w.heads, w.tails = w.lanes[:0], w.heads[:0], w.tails[:0]
}

// sort groups the records from from up to end by lane.
func (s *Sender) sort(w *sorting, records Records, from, end int32) {
	for i := range w.heads {
		w.heads[i] = -1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var t *topic
	for i := from; i < end; i++ {
		name, partition := records.Place(i)
		if t == nil || t.name != name {
			t = s.topic(name)
		}
		l := t.lane(partition)
		w.next[i%group] = -1
		at, ok := w.place[l]
		switch {
		case !ok:
			w.place[l] = len(w.lanes)
			w.lanes, w.heads, w.tails = append(w.lanes, l), append(w.heads, i), append(w.tails, i)
			continue
		case w.heads[at] < 0:
			w.heads[at] = i
		default:
			w.next[w.tails[at]%group] = i
		}
		w.tails[at] = i
	}
}

const cacheLine = 64

// load reads the records from from up to end in their order, so that the CPU can prefetch them. Each
// lane then finds its own in the CPU's caches.
func (w *sorting) load(records Records, from, end int32) {
	sum := byte(0)
	for i := from; i < end; i++ {
		records.Read(i, &w.one)
		for b := w.one.Value; len(b) > 0; b = b[min(cacheLine, len(b)):] {
			sum += b[0]
		}
		if len(w.one.Key) > 0 {
			sum += w.one.Key[0]
		}
	}
	w.loaded = sum
}
