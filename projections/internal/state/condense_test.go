package state

import (
	"slices"
	"testing"
)

// TestCondense: a user who read several times has one entry, with the furthest read. A read with
// threads has an entry beside it if it is less far.
func TestCondense(t *testing.T) {
	read := func(kind uint8, user, seq uint32, at int64) OutReceipt {
		return OutReceipt{Kind: kind, User: user, Seq: seq, At: at}
	}
	for name, x := range map[string]struct{ all, want []OutReceipt }{
		"nothing": {},
		"the furthest": {
			[]OutReceipt{read(ReceiptRead, 1, 9, 5), read(ReceiptRead, 2, 3, 5), read(ReceiptRead, 1, 4, 5), read(ReceiptRead, 1, 9, 4)},
			[]OutReceipt{read(ReceiptRead, 1, 9, 4), read(ReceiptRead, 2, 3, 5)},
		},
		"what is delivered and viewed by itself, the earliest": {
			[]OutReceipt{read(ReceiptViewed, 1, 2, 9), read(ReceiptDelivered, 1, 2, 7), read(ReceiptDelivered, 1, 1, 5), read(ReceiptDelivered, 1, 2, 6)},
			[]OutReceipt{read(ReceiptDelivered, 1, 1, 5), read(ReceiptDelivered, 1, 2, 6), read(ReceiptViewed, 1, 2, 9)},
		},
		"with threads, no less far": {
			[]OutReceipt{read(ReceiptRead, 1, 4, 5), read(ReceiptWithThreads, 1, 4, 6), read(ReceiptRead, 2, 4, 6)},
			[]OutReceipt{read(ReceiptRead, 2, 4, 6), read(ReceiptWithThreads, 1, 4, 6)},
		},
		"with threads, less far": {
			[]OutReceipt{read(ReceiptWithThreads, 1, 3, 6), read(ReceiptRead, 1, 4, 7), read(ReceiptWithThreads, 1, 2, 5)},
			[]OutReceipt{read(ReceiptRead, 1, 4, 7), read(ReceiptWithThreads, 1, 3, 6)},
		},
	} {
		if got := Condense(slices.Clone(x.all)); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}
