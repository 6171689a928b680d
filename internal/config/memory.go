package config

import (
	"fmt"
	"os"
	"runtime/debug"
)

// Memory is how the memory limit of a process is shared out:
//
//	cache     limit/8, at least 1 MiB for each partition of the topics: one block cache that all
//	          stores share
//	memtable  cache / (4 × partitions), at most 8 MiB, for each store: two of each fit into half
//	          of the cache, because Pebble takes memtables out of it
//	dirty     limit / (8 × partitions), at least 8 MiB and at most 64 MiB, for each store: what
//	          has changed since the last cut; part of the heap
//	undrained limit / (16 × partitions × 600 bytes), at least 10,000 and at most 262,144, for each
//	          partition: pairs that may change before their deltas are published; part of the heap
//	queue     limit/16, at least 16 MiB and at most 128 MiB: fetched records that wait to be
//	          folded; part of the heap
//	fetch     limit/256, at least 16 MiB and at most 32 MiB: what the cache role fetches ahead
//	          from one broker, as it is on the wire; part of the heap
//	records   limit / 20 KiB, at least 50,000 and at most 400,000: records that the cache role
//	          joins before it writes the newest value of each key to Redis; part of the heap
//	heap      limit - cache - limit/16: the soft limit of the Go runtime (GOMEMLIMIT). The rest is
//	          for what is in neither the cache nor the heap: the program itself, and memory that the
//	          C allocator has not given back
//
// In a build without cgo the cache is in the Go heap, and the heap's limit includes it.
//
//	hot       heap without the cache × 3/5: channels, users and pairs (90 to 155 bytes for each
//	          pair, with the channels' own); part of the heap. When they take more, channels
//	          that no event has named for some time leave memory, and from then on a sixth of the
//	          share stays free for what comes back
//
// The heap is a soft limit: what does not fit makes the collector run more, then the process grows.
type Memory struct {
	Limit     Bytes
	Cache     Bytes
	MemTable  Bytes
	Dirty     Bytes
	Undrained int // pairs
	Queue     Bytes
	Heap      Bytes
	Hot       Bytes
	Fetch     Bytes // of the cache role
	Records   int   // of the cache role
}

// MinMemory is the smallest accepted limit.
const MinMemory Bytes = 128 << 20

// GCPercent is the GOGC for a process with a memory limit. Hot state has no pointers and is cheap to
// mark, so a collection costs little. With a larger percentage the process takes more memory and
// no less CPU.
const GCPercent = 200

// MaxUndrained is the largest number of pairs that may change before their deltas are published.
const MaxUndrained = 1 << 18

// MaxRecords is the largest batch of the cache role.
const MaxRecords = 400_000

const (
	maxMemTable        = 8 << 20
	minDirty, maxDirty = 8 << 20, 64 << 20
	minUndrained       = 10_000
	perUndrained       = 600 // bytes that a delta takes until it is acknowledged
	minQueue, maxQueue = 16 << 20, 128 << 20
	minRecords         = 50_000
	perRecord          = 20 << 10 // bytes of the limit for each
	minFetch, maxFetch = 16 << 20, 32 << 20
	cachePerPartition  = 1 << 20
	hotShare, hotOf    = 3, 5
	memTablesPerCached = 4 // two memtables for each store, in half of the cache
)

// PlanMemory divides a limit for a process that may own this many partitions.
func PlanMemory(limit Bytes, partitions int32) (Memory, error) {
	stores := Bytes(max(partitions, 1))
	m := Memory{Limit: limit}
	m.Cache = max(limit/8, stores*cachePerPartition)
	m.MemTable = min(m.Cache/(memTablesPerCached*stores), maxMemTable)
	m.Dirty = min(max(limit/(8*stores), minDirty), maxDirty)
	m.Undrained = int(min(max(limit/(16*stores*perUndrained), minUndrained), MaxUndrained))
	m.Queue = min(max(limit/16, minQueue), maxQueue)
	m.Fetch = min(max(limit/256, minFetch), maxFetch)
	m.Records = int(min(max(limit/perRecord, minRecords), MaxRecords))
	m.Heap = limit - limit/16 - m.Cache
	m.Hot = m.Heap / hotOf * hotShare
	if !cacheOutsideHeap {
		m.Heap += m.Cache
	}
	switch {
	case limit < MinMemory:
		return Memory{}, fmt.Errorf("a memory limit of %s is too little: give at least %s", limit, MinMemory)
	case m.Cache > limit/2:
		return Memory{}, fmt.Errorf("a memory limit of %s is too little for %d partitions, which need a block cache of %s: give at least %s",
			limit, stores, m.Cache, 2*m.Cache)
	}
	return m, nil
}

// Apply sets the limit and the pace of this process's garbage collector. GOMEMLIMIT and GOGC in the
// environment take precedence.
func (m Memory) Apply() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(m.Heap))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(GCPercent)
	}
}

// String returns the shares in one line.
func (m Memory) String() string {
	return fmt.Sprintf("limit %s: heap %s, block cache %s, memtable %s, queue %s", m.Limit, m.Heap, m.Cache, m.MemTable, m.Queue)
}
