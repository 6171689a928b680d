package cache

import (
	"fmt"
	"strconv"
	"strings"
)

// run is the positions from lo to hi, both of them included.
type run struct{ lo, hi uint32 }

// runs is a set of positions: ascending, and neither touching nor overlapping.
type runs []run

// appendPositions appends ascending positions in the form 3,7-9.
func appendPositions(b []byte, list []uint32) []byte {
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] <= list[j-1]+1 {
			j++
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = appendUint(b, list[i])
		if list[j-1] > list[i] {
			b = appendUint(append(b, '-'), list[j-1])
		}
		i = j
	}
	return b
}

// parsePositions reads what appendPositions wrote.
func parsePositions(s string) (runs, error) {
	if s == "" {
		return nil, nil
	}
	set := make(runs, 0, strings.Count(s, ",")+1)
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRun := strings.Cut(part, "-")
		lo, err := strconv.ParseUint(first, 10, 32)
		hi := lo
		if err == nil && isRun {
			hi, err = strconv.ParseUint(last, 10, 32)
		}
		if err != nil || hi < lo || len(set) > 0 && lo <= uint64(set[len(set)-1].hi) {
			return nil, fmt.Errorf("%q is no ascending list of positions at %q", shorten(s), shorten(part))
		}
		set = append(set, run{uint32(lo), uint32(hi)})
	}
	return set, nil
}

// shorten keeps errors readable.
func shorten(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

// union is what is in a or b.
func union(a, b runs) runs {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make(runs, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		from := &a
		if len(a) == 0 || len(b) > 0 && b[0].lo < a[0].lo {
			from = &b
		}
		r := (*from)[0]
		*from = (*from)[1:]
		if n := len(out); n > 0 && uint64(r.lo) <= uint64(out[n-1].hi)+1 {
			out[n-1].hi = max(out[n-1].hi, r.hi)
			continue
		}
		out = append(out, r)
	}
	return out
}

// within counts the members above lo and up to hi.
func (s runs) within(lo, hi uint32) uint32 {
	n := uint32(0)
	for _, r := range s {
		if r.hi > lo && r.lo <= hi {
			n += min(r.hi, hi) - max(r.lo, lo+1) + 1
		}
	}
	return n
}

// withinBut counts the members above lo and up to hi that are not in not.
func (s runs) withinBut(lo, hi uint32, not runs) uint32 {
	n := s.within(lo, hi)
	for i, j := 0, 0; i < len(s) && j < len(not); {
		from, to := max(s[i].lo, not[j].lo), min(s[i].hi, not[j].hi)
		if from <= to {
			n -= runs{{from, to}}.within(lo, hi)
		}
		if s[i].hi < not[j].hi {
			i++
		} else {
			j++
		}
	}
	return n
}

// size is how many positions there are.
func (s runs) size() int {
	n := 0
	for _, r := range s {
		n += int(r.hi-r.lo) + 1
	}
	return n
}
