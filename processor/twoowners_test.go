package processor

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/workload"
)

// TestTwoOwnersEmitEqualBytes (R11): two groups fold the same topics into the same outputs,
// concurrently and with different batches. One of them stops and starts again in between, and keeps
// nearly all of its channels in the store only.
// Records with the same stamp are equal, byte for byte (the reader of the outputs checks it). The
// newest value of every key, and the last one in the log, equal those of a replay.
// TIDEMARK_TWO_OWNERS sets the number of records.
func TestTwoOwnersEmitEqualBytes(t *testing.T) {
	records := 50_000
	if message := os.Getenv("TIDEMARK_TWO_OWNERS"); message != "" {
		var err error
		if records, err = strconv.Atoi(message); err != nil {
			t.Fatalf("TIDEMARK_TWO_OWNERS: %v", err)
		}
	}
	if testing.Short() {
		records = min(records, 10_000)
	}
	const n = 2
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), n)
	seed := rand.Uint64()
	t.Logf("seed %d of the events", seed)
	tr := newTraffic(s, seed, 20)
	tr.said = workload.NewParts(random.Admitted())
	a := s.config(t.TempDir())
	b := s.config(t.TempDir())
	b.Group, b.BatchRecords, b.FanoutDelay, b.HotBytes = s.group+"-zombie", 300, time.Millisecond, 1<<10
	b.MemTableSize = 2 << 10 // so that cuts become tables
	ma, mb := s.start(a).ready(n), s.start(b).ready(n)
	cold := 0
	for part := range 10 {
		for done := 0; done < records/10; done += 5000 {
			tr.run(min(5000, records/10-done))
			s.caughtUp(ma)
			s.caughtUp(mb)
		}
		for number := range int32(n) {
			p, err := mb.Live(number)
			if err != nil {
				t.Fatal(err)
			}
			p.RLock()
			cold += p.Stats().ColdChannels
			p.RUnlock()
		}
		if part%3 == 2 { // it does not publish again what it folds again, whatever the other group has published since
			mb.stop()
			tr.run(500)
			mb = s.start(b).ready(n)
		}
	}
	s.caughtUp(ma)
	s.caughtUp(mb)
	ma.stop()
	mb.stop()
	da, db := s.digests(a, a.DataDir), s.digests(b, b.DataDir)
	for p := range da {
		if da[p] != db[p] {
			t.Errorf("partition %d has digests %x and %x", p, da[p], db[p])
		}
	}
	both := s.outputsOf(2)
	_, replayed := s.replay()
	sameNewest(t, "published by two", both, replayed)
	sameStanding(t, "published by two", both, replayed)
	t.Logf("%d records, %d values of %d keys by two owners, %d stamps by both", tr.written, both.count, len(both.newest), both.again)
	if cold == 0 {
		t.Error("no channel of the second owner was ever cold")
	}
	if both.again == 0 {
		t.Error("no stamp was published by both")
	}
}
