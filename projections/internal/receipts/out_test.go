package receipts

import (
	"slices"
	"testing"
)

// TestCondense: a user who read several times has one entry, with the furthest read. A read with
// threads has an entry beside it if it is less far.
func TestCondense(t *testing.T) {
	read := func(kind uint8, user, seq uint32, at int64) Out {
		return Out{Kind: kind, User: user, Seq: seq, At: at}
	}
	for name, x := range map[string]struct{ all, want []Out }{
		"nothing": {},
		"the furthest": {
			[]Out{read(OutRead, 1, 9, 5), read(OutRead, 2, 3, 5), read(OutRead, 1, 4, 5), read(OutRead, 1, 9, 4)},
			[]Out{read(OutRead, 1, 9, 4), read(OutRead, 2, 3, 5)},
		},
		"what is delivered and viewed by itself, the earliest": {
			[]Out{read(OutViewed, 1, 2, 9), read(OutDelivered, 1, 2, 7), read(OutDelivered, 1, 1, 5), read(OutDelivered, 1, 2, 6)},
			[]Out{read(OutDelivered, 1, 1, 5), read(OutDelivered, 1, 2, 6), read(OutViewed, 1, 2, 9)},
		},
		"with threads, no less far": {
			[]Out{read(OutRead, 1, 4, 5), read(OutWithThreads, 1, 4, 6), read(OutRead, 2, 4, 6)},
			[]Out{read(OutRead, 2, 4, 6), read(OutWithThreads, 1, 4, 6)},
		},
		"with threads, less far": {
			[]Out{read(OutWithThreads, 1, 3, 6), read(OutRead, 1, 4, 7), read(OutWithThreads, 1, 2, 5)},
			[]Out{read(OutRead, 1, 4, 7), read(OutWithThreads, 1, 3, 6)},
		},
	} {
		if got := Condense(slices.Clone(x.all)); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}
