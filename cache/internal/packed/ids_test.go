package packed

import (
	"crypto/rand"
	"testing"
)

// Ids are unchanged by encoding and decoding; UUIDs and ULIDs in their usual form take 17 bytes,
// and ids that only look like one are written as they are.
func TestIDs(t *testing.T) {
	for id, want := range map[string]int{
		"": 1, "m1": 3, "6f1c2a34-0000-4abc-8def-00000000ffff": 17, "01ARZ3NDEKTSV4RRFFQ69G5FAV": 17, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ": 17, "00000000000000000000000000": 17,
		"6F1C2A34-0000-4ABC-8DEF-00000000FFFF": 37, "6f1c2a34-0000-4abc-8def-00000000fffg": 37, "6f1c2a3400000-4abc-8def-00000000ffff": 37,
		"01arz3ndektsv4rrffq69g5fav": 27, "8ZZZZZZZZZZZZZZZZZZZZZZZZZ": 27, "01HCHAN0000000000000000001I": 28, "01HFIRST000000000000000001": 27,
	} {
		b := appendID(nil, []byte(id))
		in := input{b: b}
		got := string(in.id())
		if err := in.end(); err != nil || got != id {
			t.Errorf("%q came back as %q, %v", id, got, err)
		}
		if len(b) != want {
			t.Errorf("%q takes %d bytes, want %d", id, len(b), want)
		}
	}
	for range 1000 {
		raw := make([]byte, 16)
		_, _ = rand.Read(raw)
		if got, ok := uuidOf(idOfUUID(raw)); !ok || string(got[:]) != string(raw) {
			t.Fatalf("uuid %x: %x", raw, got)
		}
		if got, ok := ulidOf(idOfULID(raw)); !ok || string(got[:]) != string(raw) {
			t.Fatalf("ulid %x: %x", raw, got)
		}
	}
}
