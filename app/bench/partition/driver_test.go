package partition

import (
	"runtime"
	"testing"
	"weak"

	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
)

// TestFoldAllForgets: a driver keeps no memory of the records that it has folded, which would count
// as memory of the partition.
func TestFoldAllForgets(t *testing.T) {
	m := traffic.Mixes["R"]
	m.Channels = 1_000
	p, err := openCold(m, projections.DefaultSettings(), room{hot: 1 << 10, cache: 8 << 20, memtable: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}()
	fold := func() weak.Pointer[byte] {
		recs := records(traffic.New(m).Next, 1_000)
		if err := p.d.foldAll(recs); err != nil {
			t.Fatal(err)
		}
		return weak.Make(&recs[0].value[0])
	}
	value := fold()
	runtime.GC()
	if value.Value() != nil {
		t.Error("folded records are still in memory")
	}
}
