//go:build unix

package edge

import "golang.org/x/sys/unix"

// descriptors is how many this process may have open; 0 if that is not known.
func descriptors() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return uint64(l.Cur) //nolint:unconvert // signed on FreeBSD
}
