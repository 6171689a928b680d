package projections

import (
	"errors"
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/differ"
)

// Difference describes one way in which two stores of a partition differ.
type Difference = differ.Difference

// comparedChannels is how many differing channels Compare examines in detail.
const comparedChannels = 1000

// Compare compares the records of two stores and describes each channel that differs. It lists the
// numbers and pointers that readers would see differently; if those agree, it lists the differing
// records. fn gets the differences in the order of channels, until it returns false. Compare
// describes the first 1,000 differing channels; more is the number of the others. Everything in
// both partitions must be cut and applied. The caller holds RLock of both.
func Compare(a, b *Partition, fn func(Difference) bool) (more int, err error) {
	if a.rules.Positions != b.rules.Positions {
		fn(Difference{Field: "position", A: fmt.Sprint(a.rules.Positions), B: fmt.Sprint(b.rules.Positions)})
		return 0, nil // at different positions everything may differ
	}
	found, more, err := differ.Channels(a.db, b.db, comparedChannels)
	if err != nil {
		return 0, err
	}
	for _, c := range found {
		list := append(compareViews(a, b, c.ID), threadViews(a, b, c)...)
		if len(list) == 0 {
			list = c.Records
		}
		for _, d := range list {
			if !fn(d) {
				return more, errors.Join(a.rules.Err(), b.rules.Err())
			}
		}
	}
	if len(found) == 0 && a.rules.Written.Digest != b.rules.Written.Digest {
		fn(Difference{Field: "digest in the header (all records are equal)", A: fmt.Sprintf("%x", a.rules.Digest()), B: fmt.Sprintf("%x", b.rules.Digest())})
	}
	return more, errors.Join(a.rules.Err(), b.rules.Err())
}
