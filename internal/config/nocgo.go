//go:build !cgo

package config

// cacheOutsideHeap: without cgo Pebble's block cache and memtables are in the Go heap.
const cacheOutsideHeap = false
