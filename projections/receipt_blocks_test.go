package projections

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/traffic"
)

// TestReceiptsOfManyChannels: a cut with receipts of many channels, whose blocks one iterator reads,
// writes the same records as cuts with one, which search for each block.
func TestReceiptsOfManyChannels(t *testing.T) {
	mix := traffic.Mixes["B"]
	mix.Channels, mix.Members, mix.Users = 300, 5, 400
	contents := func(every int, iterates bool) (records map[string]string, digest [16]byte) {
		p := mustOpen(t, vfs.NewMem(), testIdentity())
		defer func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}()
		var dec events.Decoder
		var offsets [events.NumInputs]int64
		fold := func(e *traffic.Event) {
			var err error
			switch e.Input {
			case events.Reads:
				var r events.Read
				if err = dec.Read(e.Value, e.Millis, &r); err == nil {
					p.rules.FoldRead(&r, offsets[e.Input], e.Millis)
				}
			case events.Messages:
				var m events.Message
				if err = dec.Message(e.Value, e.Millis, &m); err == nil {
					p.rules.FoldMessage(&m, offsets[e.Input], e.Millis)
				}
			default:
				var d events.Delivery
				if err = dec.Delivery(e.Value, e.Millis, &d); err == nil {
					p.rules.FoldDelivery(&d, offsets[e.Input], e.Millis)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			offsets[e.Input]++
		}
		g := traffic.New(mix)
		g.Joins(fold)
		for i := range 12_000 {
			e := g.Next()
			if fold(&e); i%every != every-1 {
				continue
			}
			if n := len(p.rules.ReceiptChannels); n > 1 != iterates || iterates && n < mix.Channels/sparseReceipts {
				t.Fatalf("a cut has receipts of %d channels", n)
			}
			mustCut(t, p)
		}
		mustCut(t, p)
		records = map[string]string{}
		if err := p.Dump(func(key, val []byte) error {
			records[string(key)] = string(val)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return records, p.Digest()
	}
	many, digest := contents(3000, true)
	few, other := contents(1, false)
	if digest != other {
		t.Errorf("digest %x, and %x with small cuts", digest, other)
	}
	for key, val := range few {
		if many[key] != val {
			t.Errorf("record %q: %x, and %x with small cuts", key, many[key], val)
		}
	}
	if len(many) != len(few) {
		t.Errorf("%d records, and %d with small cuts", len(many), len(few))
	}
}
