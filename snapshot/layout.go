package snapshot

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark/tidemark/projections"
)

// Below the bucket's prefix each partition has its own:
//
//	partition-3/current.manifest                    the newest snapshot; replaced conditionally
//	partition-3/manifests/<m>-<r>-<d>.manifest      each snapshot that was current, by position
//	partition-3/files/<sha256>.<milliseconds>       files of stores, by content and time of upload
//
// The position has 20 digits for each topic, so that names sort like positions. No file name is
// ever used twice: a prune that is paused between listing a name and removing it must not remove a
// newer file. (Earlier builds left out the time if they saw no file with that content. Such names
// are read like the rest.)

const (
	manifestSuffix = ".manifest"
	currentName    = "current" + manifestSuffix
	historyPrefix  = "manifests/"
	filesPrefix    = "files/"
)

// partitionPrefix is the prefix of all keys of a partition.
func partitionPrefix(partition int32) string { return fmt.Sprintf("partition-%d/", partition) }

// partitionOf returns the partition that a key belongs to.
func partitionOf(key string) (partition int32, rest string, ok bool) {
	first, rest, found := strings.Cut(key, "/")
	number, isPartition := strings.CutPrefix(first, "partition-")
	n, err := strconv.ParseInt(number, 10, 32)
	if !found || !isPartition || err != nil || n < 0 || strconv.FormatInt(n, 10) != number {
		return 0, "", false
	}
	return int32(n), rest, true
}

// Name returns the name of a snapshot within its partition: its position.
func Name(v projections.Position) string { return fmt.Sprintf("%020d-%020d-%020d", v[0], v[1], v[2]) }

// ParseName reads a name: 20 digits for each topic, or fewer.
func ParseName(s string) (v projections.Position, err error) {
	parts := strings.Split(s, "-")
	if len(parts) != len(v) {
		return v, fmt.Errorf("%q is not a snapshot: write its position as m-r-d", s)
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 63)
		if err != nil {
			return v, fmt.Errorf("%q is not a snapshot: write its position as m-r-d", s)
		}
		v[i] = int64(n)
	}
	return v, nil
}

func historyKey(v projections.Position) string { return historyPrefix + Name(v) + manifestSuffix }

// fileKey returns the key for a new file with that content.
func fileKey(sha string, now time.Time) string {
	return filesPrefix + sha + "." + strconv.FormatInt(now.UnixMilli(), 10)
}

// isObject reports whether key may hold a file of that content.
func isObject(key, sha string) bool {
	rest, ok := strings.CutPrefix(key, filesPrefix+sha)
	if rest == "" {
		return ok
	}
	_, err := strconv.ParseUint(strings.TrimPrefix(rest, "."), 10, 63)
	return ok && rest[0] == '.' && err == nil
}

// nameOf returns the position in the key of a manifest of the history.
func nameOf(rest string) (projections.Position, bool) {
	name, ok := strings.CutPrefix(rest, historyPrefix)
	name, ok2 := strings.CutSuffix(name, manifestSuffix)
	if !ok || !ok2 {
		return projections.Position{}, false
	}
	v, err := ParseName(name)
	return v, err == nil && Name(v) == name
}
