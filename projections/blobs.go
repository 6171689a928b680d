package projections

import "encoding/binary"

// blobs holds byte strings in chunks of 1 MiB, addressed by 32 bits: chunk<<16 | unit of 16 bytes. A blob is a 2-byte
// length and its bytes, rounded up to a size class; freed blobs are used again within their class. What is larger than
// the largest class lives on the Go heap under a reference with the top bit set.
type blobs struct {
	chunks [][]byte
	used   int // units used of the last chunk
	spare  []byte
	free   [len(blobClasses)][]uint32
	big    map[uint32][]byte
	bigRef uint32
	live   int64
}

const (
	blobUnit  = 16
	blobUnits = 1 << 16
	blobBig   = 1 << 31
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

// put copies b and returns its reference, never 0.
func (s *blobs) put(b []byte) uint32 {
	c := blobClass(len(b))
	if c < 0 {
		if s.big == nil {
			s.big = map[uint32][]byte{}
		}
		s.bigRef++
		ref := blobBig | s.bigRef
		s.big[ref] = append([]byte(nil), b...)
		s.live += int64(len(b))
		return ref
	}
	var ref uint32
	if f := s.free[c]; len(f) > 0 {
		ref = f[len(f)-1]
		s.free[c] = f[:len(f)-1]
	} else {
		units := blobClasses[c]
		if len(s.chunks) == 0 || s.used+units > blobUnits {
			s.chunks = append(s.chunks, s.chunk())
			s.used = 0
			if len(s.chunks) == 1 {
				s.used = 1 // reference 0 is none
			}
		}
		ref = uint32(len(s.chunks)-1)<<16 | uint32(s.used)
		s.used += units
	}
	at := s.chunks[ref>>16][int(ref&0xffff)*blobUnit:]
	binary.LittleEndian.PutUint16(at, uint16(len(b)))
	copy(at[2:], b)
	s.live += int64(blobClasses[c]) * blobUnit
	return ref
}

// chunk makes room for the next chunk. The first is a piece of its own, so that a partition with little in it costs
// little; after that several are made together, large enough for huge pages.
func (s *blobs) chunk() []byte {
	const size = blobUnit * blobUnits
	if len(s.chunks) == 0 {
		return make([]byte, size)
	}
	if len(s.spare) == 0 {
		s.spare = make([]byte, 8*size)
		adviseHuge(s.spare)
	}
	c := s.spare[:size:size]
	s.spare = s.spare[size:]
	return c
}

// get returns the blob; it is valid, and must not be changed, until it is released. Reference 0 is the empty string.
func (s *blobs) get(ref uint32) []byte {
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

// release gives the blob's space back. Releasing 0 does nothing.
func (s *blobs) release(ref uint32) {
	switch {
	case ref == 0:
	case ref&blobBig != 0:
		s.live -= int64(len(s.big[ref]))
		delete(s.big, ref)
	default:
		c := blobClass(len(s.get(ref)))
		s.live -= int64(blobClasses[c]) * blobUnit
		s.free[c] = append(s.free[c], ref)
	}
}

// bytes is the memory taken, whether in use or free.
func (s *blobs) bytes() int64 { return int64(len(s.chunks)) * blobUnit * blobUnits }
