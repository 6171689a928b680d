package events

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Run is a run of positions from Lo to Hi, both included.
type Run struct{ Lo, Hi uint32 }

// Positions is a set of positions in a channel: ascending runs that do not touch each other.
type Positions []Run

// PositionsOf returns the set of the positions in list, which must be ascending.
func PositionsOf(list []uint32) Positions {
	var set Positions
	for _, pos := range list {
		if n := len(set); n > 0 && pos <= set[n-1].Hi+1 {
			set[n-1].Hi = pos
		} else {
			set = append(set, Run{pos, pos})
		}
	}
	return set
}

// Size returns the number of positions in s.
func (s Positions) Size() int {
	n := 0
	for _, r := range s {
		n += int(r.Hi-r.Lo) + 1
	}
	return n
}

// from returns the runs of s that end at pos or above.
func (s Positions) from(pos uint32) Positions {
	i, _ := slices.BinarySearchFunc(s, pos, func(r Run, pos uint32) int {
		if r.Hi < pos {
			return -1
		}
		return 1
	})
	return s[i:]
}

// AppendPositions appends ascending positions in the form 3,7-9 (DESIGN §8).
func AppendPositions(b []byte, list []uint32) []byte {
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] <= list[j-1]+1 {
			j++
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(list[i]), 10)
		if list[j-1] > list[i] {
			b = strconv.AppendUint(append(b, '-'), uint64(list[j-1]), 10)
		}
		i = j
	}
	return b
}

// ParsePositions reads the form that AppendPositions writes.
func ParsePositions(text string) (Positions, error) {
	if text == "" {
		return nil, nil
	}
	set := make(Positions, 0, strings.Count(text, ",")+1)
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRun := strings.Cut(part, "-")
		lo, err := strconv.ParseUint(first, 10, 32)
		hi := lo
		if err == nil && isRun {
			hi, err = strconv.ParseUint(last, 10, 32)
		}
		if err != nil || hi < lo || len(set) > 0 && lo <= uint64(set[len(set)-1].Hi) {
			return nil, fmt.Errorf("%q is no ascending list of positions at %q", shorten(text), shorten(part))
		}
		set = append(set, Run{uint32(lo), uint32(hi)})
	}
	return set, nil
}
