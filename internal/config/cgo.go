//go:build cgo

package config

// cacheOutsideHeap: with cgo Pebble's block cache and memtables are memory of the C allocator,
// which the Go runtime does not count.
const cacheOutsideHeap = true
