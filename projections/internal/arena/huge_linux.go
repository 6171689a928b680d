package arena

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// adviseHuge requests huge pages for a large new slice. The fold reads hot state at random, and
// with pages of 4 KiB each read misses the TLB as well. It is a hint: a kernel without free huge
// pages ignores it.
func adviseHuge[T any](s []T) {
	var zero T
	if len(s) == 0 {
		return
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	end := start + uintptr(len(s))*unsafe.Sizeof(zero)
	first := (start + hugePage - 1) &^ (hugePage - 1)
	if first+hugePage > end {
		return
	}
	n := (end - first) &^ (hugePage - 1)
	skip := first - start
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), skip)), n), unix.MADV_HUGEPAGE)
}
