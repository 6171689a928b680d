package arena

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Blobs holds byte strings in chunks of 1 MiB. A reference has 32 bits: chunk<<16 | unit of 16
// bytes. A blob is a 2-byte length and its bytes, rounded up to a size class; a freed blob is
// reused within its class. A blob beyond the largest class, or beyond blobChunks chunks, lives on
// the Go heap under a reference with the top bit set.
type Blobs struct {
	chunks [][]byte // nil: Trim freed it
	units  []int32  // units in use, of each chunk
	pieces []int32  // the allocation that each chunk is a part of
	piece  int32    // the newest allocation
	last   int      // the chunk that is not full yet
	used   int      // units used of it
	spare  []byte
	free   [len(blobClasses)][]uint32
	big    map[uint32][]byte
	bigRef uint32   // the largest reference given out
	bigs   []uint32 // free references
	full   int      // the limit of chunks, 0 = blobChunks
	Small  bool     // the first chunk has 32 KiB: for few blobs, that are soon dropped
	live   int64
}

const (
	blobUnit  = 16
	blobUnits = 1 << 16
	blobBig   = 1 << 31

	blobChunks = blobBig / blobUnits // one more chunk number would set the top bit
)

// blobClasses are sizes in units: in fine steps up to the length of ids and short messages, coarse
// above.
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
		if (len(s.chunks) == 0 || s.used+units > len(s.chunks[s.last])/blobUnit) && !s.more() {
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

// more starts another chunk, unless the limit is reached.
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
		s.used = 1 // reference 0 means none
	}
	return true
}

// putBig puts b on the Go heap.
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

// chunk allocates the next chunk. The first chunk is an allocation of its own, so that a small
// partition uses little memory. Later ones are allocated several at once, large enough for huge
// pages.
func (s *Blobs) chunk() []byte {
	const size = blobUnit * blobUnits
	if len(s.chunks) == 0 {
		if s.Small {
			return make([]byte, size/32)
		}
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

// Get returns a blob. The caller must not change it, and must not use it after its Release.
// Reference 0 is the empty string.
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

// Release frees a blob's space. Releasing 0 does nothing.
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

// Idle reports whether Trim can free enough memory to be worth calling.
func (s *Blobs) Idle() bool {
	n := 0
	for _, empty := range s.empty() {
		if empty {
			n++
		}
	}
	return n > 0 && n >= len(s.chunks)/4
}

// empty reports for each chunk whether the whole allocation that it is a part of is unused.
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

// Trim frees the memory of unused chunks.
func (s *Blobs) Trim() {
	for k, empty := range s.empty() {
		if !empty {
			continue
		}
		s.chunks[k] = nil
		if k == s.last { // the unused rest of its allocation is freed with it
			s.used, s.spare = blobUnits, nil
		}
	}
	for c := range s.free {
		s.free[c] = slices.Clip(slices.DeleteFunc(s.free[c], func(ref uint32) bool { return s.chunks[ref>>16] == nil }))
	}
}

// Bytes returns the allocated memory, in use or free.
func (s *Blobs) Bytes() (n int64) {
	for _, c := range s.chunks {
		n += int64(len(c))
	}
	return n
}

// Live returns the memory of the blobs that are in use.
func (s *Blobs) Live() int64 { return s.live }

// Size returns the memory of a blob.
func (s *Blobs) Size(ref uint32) int64 {
	n := len(s.Get(ref))
	switch {
	case ref == 0:
		return 0
	case ref&blobBig != 0:
		return int64(n)
	}
	return int64(blobClasses[blobClass(n)]) * blobUnit
}

// First returns the blob's first byte, 0 for an empty blob.
func (s *Blobs) First(ref uint32) byte {
	if ref == 0 || ref&blobBig != 0 {
		return 0
	}
	return s.chunks[ref>>16][int(ref&0xffff)*blobUnit]
}
