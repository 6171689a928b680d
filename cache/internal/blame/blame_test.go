package blame

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestARecordIsSkippedAfterItsTries(t *testing.T) {
	b := Records{}
	bad, next := &kgo.Record{Topic: "t", Partition: 1, Offset: 7}, &kgo.Record{Topic: "t", Partition: 1, Offset: 8}
	for i := range Tries {
		if b.Skips(bad) {
			t.Fatalf("skipped after %d panics of %d", i, Tries)
		}
		b.Add(bad)
	}
	if !b.Skips(bad) || b.Skips(next) {
		t.Errorf("after %d panics the record is skipped: %v, the next one: %v", Tries, b.Skips(bad), b.Skips(next))
	}
}

// However many records panic, their number in memory has a bound.
func TestBlamedRecordsAreBounded(t *testing.T) {
	b := Records{}
	for i := range int64(3 * most) {
		b.Add(&kgo.Record{Topic: "t", Offset: i})
		if len(b) > most {
			t.Fatalf("%d records are remembered, want at most %d", len(b), most)
		}
	}
}
