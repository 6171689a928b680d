package importer

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// runBytes is how many bytes a sorter collects in memory before it writes a run.
const runBytes = 64 << 20

// sorter takes entries in any order and returns them ordered by key, then by value. Entries that do
// not fit into memory are in files in dir.
type sorter struct {
	dir    string
	limit  int // bytes in memory
	arena  []byte
	spans  []span
	runs   []*os.File
	length int64
}

// span is an entry in the arena.
type span struct{ key, value, end int }

func newSorter(dir string) *sorter { return &sorter{dir: dir, limit: runBytes} }

// add takes an entry. Key and value are copied.
func (s *sorter) add(key, value []byte) error {
	at := len(s.arena)
	s.arena = append(append(s.arena, key...), value...)
	s.spans = append(s.spans, span{at, at + len(key), len(s.arena)})
	s.length++
	if len(s.arena) < s.limit {
		return nil
	}
	return s.spill()
}

// sort orders the entries in memory.
func (s *sorter) sort() {
	slices.SortFunc(s.spans, func(a, b span) int {
		if c := bytes.Compare(s.arena[a.key:a.value], s.arena[b.key:b.value]); c != 0 {
			return c
		}
		return bytes.Compare(s.arena[a.value:a.end], s.arena[b.value:b.end])
	})
}

// spill writes the entries in memory as a run. It unlinks the open file at once, so that nothing
// remains of it, however the process ends.
func (s *sorter) spill() error {
	s.sort()
	f, err := os.CreateTemp(s.dir, "tidemark-import-")
	if err != nil {
		return fmt.Errorf("creating a file for a sorted run: %w", err)
	}
	_ = os.Remove(f.Name()) // if an open file cannot be removed, close removes it
	s.runs = append(s.runs, f)
	w := bufio.NewWriterSize(f, 1<<20)
	var head [2 * binary.MaxVarintLen64]byte
	for _, e := range s.spans {
		n := binary.PutUvarint(head[:], uint64(e.value-e.key))
		n += binary.PutUvarint(head[n:], uint64(e.end-e.value))
		_, _ = w.Write(head[:n]) // Flush has the first error
		_, _ = w.Write(s.arena[e.key:e.end])
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing a sorted run: %w: is there room in %s? Set TMPDIR to use another directory", err, s.dir)
	}
	s.arena, s.spans = s.arena[:0], s.spans[:0]
	return nil
}

// close forgets all entries.
func (s *sorter) close() {
	for _, f := range s.runs {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	*s = sorter{}
}

// walk calls fn for the entries in order, beginning at the key from. Key and value are valid until
// fn returns. walk may be called again.
func (s *sorter) walk(from []byte, fn func(key, value []byte) error) error {
	s.sort()
	var h runHeap
	for _, f := range s.runs {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("reading a sorted run: %w", err)
		}
		h = append(h, &run{r: bufio.NewReaderSize(f, 256<<10)})
	}
	h = append(h, &run{memory: s})
	for i := len(h) - 1; i >= 0; i-- {
		more, err := h[i].next()
		if err != nil {
			return err
		}
		if !more {
			h = slices.Delete(h, i, i+1)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		first := h[0]
		if bytes.Compare(first.key, from) >= 0 {
			if err := fn(first.key, first.value); err != nil {
				return err
			}
		}
		more, err := first.next()
		switch {
		case err != nil:
			return err
		case more:
			heap.Fix(&h, 0)
		default:
			heap.Pop(&h)
		}
	}
	return nil
}

// run is a sorted run, in a file or in memory, at one of its entries.
type run struct {
	r          *bufio.Reader
	buf        []byte
	memory     *sorter
	at         int
	key, value []byte
}

func (r *run) next() (more bool, err error) {
	if s := r.memory; s != nil {
		if r.at == len(s.spans) {
			return false, nil
		}
		e := s.spans[r.at]
		r.at++
		r.key, r.value = s.arena[e.key:e.value], s.arena[e.value:e.end]
		return true, nil
	}
	k, err := binary.ReadUvarint(r.r)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	var v uint64
	if err == nil {
		v, err = binary.ReadUvarint(r.r)
	}
	if err == nil {
		r.buf = slices.Grow(r.buf[:0], int(k+v))[:k+v]
		_, err = io.ReadFull(r.r, r.buf)
	}
	if err != nil {
		return false, fmt.Errorf("reading a sorted run: %w", err)
	}
	r.key, r.value = r.buf[:k], r.buf[k:]
	return true, nil
}

type runHeap []*run

func (h runHeap) Len() int { return len(h) }
func (h runHeap) Less(i, j int) bool {
	c := bytes.Compare(h[i].key, h[j].key)
	return c < 0 || (c == 0 && bytes.Compare(h[i].value, h[j].value) < 0)
}
func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)   { *h = append(*h, x.(*run)) }
func (h *runHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
