//go:build unix

package edge

import "golang.org/x/sys/unix"

// descriptors returns how many descriptors this process may have open; 0 if that is unknown.
func descriptors() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return uint64(l.Cur) //nolint:unconvert // signed on FreeBSD
}
