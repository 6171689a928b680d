package config

import (
	"math"
	"runtime/debug"
	"strings"
	"testing"
)

func TestMemoryIsSharedOut(t *testing.T) {
	for _, c := range []struct {
		limit      Bytes
		partitions int32
	}{{MinMemory, 1}, {MinMemory, 64}, {512 << 20, 4}, {1 << 30, 64}, {1 << 30, 256}, {64 << 30, 64}} {
		m, err := PlanMemory(c.limit, c.partitions)
		if err != nil {
			t.Errorf("%s for %d partitions: %v", c.limit, c.partitions, err)
			continue
		}
		if outside := c.limit / 16; m.Heap+outside > c.limit || cacheOutsideHeap && m.Heap+m.Cache+outside > c.limit {
			t.Errorf("%s for %d partitions promises more than there is: %s", c.limit, c.partitions, m)
		}
		// Builds with and without cgo keep as much hot state: the block cache is no room for it.
		if want := (c.limit - c.limit/16 - m.Cache) / 5 * 3; m.Hot != want {
			t.Errorf("%s for %d partitions: %s of hot state, want %s", c.limit, c.partitions, m.Hot, want)
		}
		if two := 2 * m.MemTable * Bytes(c.partitions); two > m.Cache/2 {
			t.Errorf("%s for %d partitions: two memtables of each store take %s of a cache of %s", c.limit, c.partitions, two, m.Cache)
		}
		if m.Dirty < 8<<20 || m.Dirty > 64<<20 || m.Dirty > 8<<20 && m.Dirty*Bytes(c.partitions) > c.limit/8 {
			t.Errorf("%s for %d partitions: %s of changes in each", c.limit, c.partitions, m.Dirty)
		}
		if m.Records < 50_000 || m.Records > MaxRecords || m.Records > 50_000 && Bytes(m.Records) > c.limit>>14 {
			t.Errorf("%s for %d partitions: %d records for Redis at once", c.limit, c.partitions, m.Records)
		}
		if m.Queue > m.Heap/2 || m.MemTable < 256<<10 || m.Heap < c.limit/3 {
			t.Errorf("%s for %d partitions: %s", c.limit, c.partitions, m)
		}
	}
}

func TestTooLittleMemoryIsRefusedWithWhatWouldDo(t *testing.T) {
	for _, c := range []struct {
		limit      Bytes
		partitions int32
		want       string
	}{{MinMemory - 1, 1, "128MiB"}, {MinMemory, 100, "200MiB"}, {0, 4, "128MiB"}} {
		_, err := PlanMemory(c.limit, c.partitions)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %d partitions: %v; want it to name %s", c.limit, c.partitions, err, c.want)
		}
	}
}

func TestTheEnvironmentStands(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	t.Cleanup(func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	})
	m, err := PlanMemory(1<<30, 4)
	if err != nil {
		t.Fatal(err)
	}
	debug.SetMemoryLimit(math.MaxInt64)
	t.Setenv("GOMEMLIMIT", "3GiB")
	t.Setenv("GOGC", "77")
	m.Apply()
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("the limit became %d though GOMEMLIMIT is set", got)
	}
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("GOGC became %d though it is set", got)
	}
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "")
	m.Apply()
	if got := debug.SetMemoryLimit(-1); got != int64(m.Heap) {
		t.Errorf("the limit is %d, want %d", got, m.Heap)
	}
	if got := debug.SetGCPercent(100); got != GCPercent {
		t.Errorf("GOGC is %d, want %d", got, GCPercent)
	}
}
