package arena

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Blobs holds byte strings in chunks of 1 MiB, addressed by 32 bits: chunk<<16 | unit of 16 bytes.
// A blob is a 2-byte length and its bytes, rounded up to a size class; freed blobs are used again
// within their class. What is larger than the largest class, or finds no room in blobChunks chunks
// any more, lives on the Go heap under a reference with the top bit set.
type Blobs struct {
	chunks [][]byte // nil: trim gave it back
	units  []int32  // in use of each chunk
	pieces []int32  // which piece of memory each chunk is a part of
	piece  int32    // the newest
	last   int      // the chunk that is not full yet
	used   int      // units used of it
	spare  []byte
	free   [len(blobClasses)][]uint32
	big    map[uint32][]byte
	bigRef uint32   // the largest that was given out
	bigs   []uint32 // those of them that are free
	full   int      // chunks that there may be, 0 = blobChunks
	live   int64
}

const (
	blobUnit  = 16
	blobUnits = 1 << 16
	blobBig   = 1 << 31

	blobChunks = blobBig / blobUnits // the next one's number would set the top bit
)

// blobClasses are sizes in units: fine steps where ids and short messages are, coarse above.
var blobClasses = [...]int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256, 512, 1024, 2048}

func blobClass(n int) int {
	units := (n + 2 + blobUnit - 1) / blobUnit
	for i, u := range blobClasses {
		if units <= u {
			return i
		}
	}
	return -1
}

// Put copies b and returns its reference, never 0.
func (s *Blobs) Put(b []byte) uint32 {
	c := blobClass(len(b))
	if c < 0 {
		return s.putBig(b)
	}
	var ref uint32
	if f := s.free[c]; len(f) > 0 {
		ref = f[len(f)-1]
		s.free[c] = f[:len(f)-1]
	} else {
		units := blobClasses[c]
		if (len(s.chunks) == 0 || s.used+units > blobUnits) && !s.more() {
			return s.putBig(b)
		}
		ref = uint32(s.last)<<16 | uint32(s.used)
		s.used += units
	}
	s.units[ref>>16] += int32(blobClasses[c])
	at := s.chunks[ref>>16][int(ref&0xffff)*blobUnit:]
	binary.LittleEndian.PutUint16(at, uint16(len(b)))
	copy(at[2:], b)
	s.live += int64(blobClasses[c]) * blobUnit
	return ref
}

// more begins another chunk, if there may be one.
func (s *Blobs) more() bool {
	k := slices.IndexFunc(s.chunks, func(c []byte) bool { return c == nil })
	switch {
	case k >= 0:
		s.chunks[k] = s.chunk()
	case len(s.chunks) == cmp.Or(s.full, blobChunks):
		return false
	default:
		k = len(s.chunks)
		s.chunks, s.units, s.pieces = append(s.chunks, s.chunk()), append(s.units, 0), append(s.pieces, 0)
	}
	s.pieces[k] = s.piece
	s.last, s.used = k, 0
	if k == 0 {
		s.used = 1 // reference 0 is none
	}
	return true
}

// putBig is put on the Go heap.
func (s *Blobs) putBig(b []byte) uint32 {
	if s.big == nil {
		s.big = map[uint32][]byte{}
	}
	var ref uint32
	if n := len(s.bigs); n > 0 {
		ref, s.bigs = s.bigs[n-1], s.bigs[:n-1]
	} else {
		if s.bigRef++; s.bigRef == blobBig {
			panic("more than 2,147,483,647 large pieces of text are in the memory of one partition: spread its channels over more partitions")
		}
		ref = blobBig | s.bigRef
	}
	s.big[ref] = append([]byte(nil), b...)
	s.live += int64(len(b))
	return ref
}

// chunk makes room for the next chunk. The first is a piece of its own, so that a partition with
// little in it costs little; after that several are made together, large enough for huge pages.
func (s *Blobs) chunk() []byte {
	const size = blobUnit * blobUnits
	if len(s.chunks) == 0 {
		return make([]byte, size)
	}
	if len(s.spare) == 0 {
		s.spare = make([]byte, 4*size)
		s.piece++
		adviseHuge(s.spare)
	}
	c := s.spare[:size:size]
	s.spare = s.spare[size:]
	return c
}

// Get returns the blob; it is valid, and must not be changed, until it is released. Reference 0 is
// the empty string.
func (s *Blobs) Get(ref uint32) []byte {
	if ref == 0 {
		return nil
	}
	if ref&blobBig != 0 {
		return s.big[ref]
	}
	at := s.chunks[ref>>16][int(ref&0xffff)*blobUnit:]
	n := int(binary.LittleEndian.Uint16(at))
	return at[2 : 2+n : 2+n]
}

// Release gives the blob's space back. Releasing 0 does nothing.
func (s *Blobs) Release(ref uint32) {
	switch {
	case ref == 0:
	case ref&blobBig != 0:
		s.live -= int64(len(s.big[ref]))
		delete(s.big, ref)
		s.bigs = append(s.bigs, ref)
	default:
		c := blobClass(len(s.Get(ref)))
		s.live -= int64(blobClasses[c]) * blobUnit
		s.units[ref>>16] -= int32(blobClasses[c])
		s.free[c] = append(s.free[c], ref)
	}
}

// Idle reports whether trim has something to give back, and so much that it pays.
func (s *Blobs) Idle() bool {
	n := 0
	for _, empty := range s.empty() {
		if empty {
			n++
		}
	}
	return n > 0 && n >= len(s.chunks)/4
}

// empty says of each chunk whether nothing is in the whole piece of memory that it is a part of.
func (s *Blobs) empty() []bool {
	inUse := map[int32]bool{}
	for k, units := range s.units {
		inUse[s.pieces[k]] = inUse[s.pieces[k]] || units > 0
	}
	empty := make([]bool, len(s.chunks))
	for k := range empty {
		empty[k] = s.chunks[k] != nil && !inUse[s.pieces[k]]
	}
	return empty
}

// Trim gives back the memory of chunks in which nothing is.
func (s *Blobs) Trim() {
	for k, empty := range s.empty() {
		if !empty {
			continue
		}
		s.chunks[k] = nil
		if k == s.last { // what is left of its piece goes with it
			s.used, s.spare = blobUnits, nil
		}
	}
	for c := range s.free {
		s.free[c] = slices.Clip(slices.DeleteFunc(s.free[c], func(ref uint32) bool { return s.chunks[ref>>16] == nil }))
	}
}

// Bytes is the memory taken, whether in use or free.
func (s *Blobs) Bytes() (n int64) {
	for _, c := range s.chunks {
		n += int64(len(c))
	}
	return n
}

// First is the blob's first byte, 0 for none.
func (s *Blobs) First(ref uint32) byte {
	if ref == 0 || ref&blobBig != 0 {
		return 0
	}
	return s.chunks[ref>>16][int(ref&0xffff)*blobUnit]
}
