package arena

import (
	"bytes"
	"testing"
)

// TestBlobsBeyondTheirChunks: text that does not fit into the chunks that 32 bits can address is
// stored elsewhere, and stays for as long as it is in use.
func TestBlobsBeyondTheirChunks(t *testing.T) {
	if last := uint32(blobChunks-1)<<16 | 0xffff; last&blobBig != 0 || last+1 != blobBig {
		t.Fatalf("the last unit of the last chunk is %#x", last)
	}
	s := Blobs{full: 2}
	text := func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 8_000+i) }
	var refs []uint32
	for round := range 3 {
		for i := range 200 { // about 3 MiB
			refs = append(refs, s.Put(text(i)))
		}
		beyond := 0
		for i, ref := range refs {
			if ref&blobBig != 0 {
				beyond++
			}
			if !bytes.Equal(s.Get(ref), text(i)) {
				t.Fatalf("round %d: text %d is lost", round, i)
			}
		}
		if beyond == 0 || beyond == len(refs) || len(s.chunks) != 2 {
			t.Fatalf("round %d: %d of %d are beyond %d chunks", round, beyond, len(refs), len(s.chunks))
		}
		for _, ref := range refs {
			s.Release(ref)
		}
		if refs = refs[:0]; len(s.big) != 0 || s.live != 0 || int(s.bigRef) != len(s.bigs) || s.bigRef > 200 {
			t.Fatalf("round %d: %d are left, %d bytes, %d of %d references", round, len(s.big), s.live, len(s.bigs), s.bigRef)
		}
	}
}
