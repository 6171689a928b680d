package projections

import "slices"

// mergeSegments drops, between held marks, the closed reads that a further one in the same segment makes idle.
func mergeSegments(x *exc) bool {
	n := len(x.held)
	first := slices.IndexFunc(x.held, func(h held) bool { return h.kind == heldMark })
	if first < 0 || first == n-1 {
		return false
	}
	keep := x.held[:first+1]
	rest := slices.Clone(x.held[first+1:])
	for len(rest) > 0 {
		end := slices.IndexFunc(rest, func(h held) bool { return h.kind == heldMark })
		if end < 0 {
			end = len(rest)
		}
		keep = mergeSegment(keep, rest[:end])
		if end < len(rest) {
			keep = append(keep, rest[end])
			end++
		}
		rest = rest[end:]
	}
	clear(x.held[len(keep):n])
	x.held = keep
	return len(keep) != n
}

func mergeSegment(keep, seg []held) []held {
	far := -1
	for i := range seg {
		if seg[i].kind == heldRead && seg[i].closed && (far < 0 || seg[i].seq > seg[far].seq) {
			far = i
		}
	}
	for i := range seg {
		h := &seg[i]
		if h.closed && h.kind == heldRead && (i != far || h.seq == 0) {
			continue
		}
		if h.kind == heldSingle && h.closed {
			again := func(o held) bool { return o.kind == heldSingle && o.closed && o.seq == h.seq }
			if (far >= 0 && h.seq <= seg[far].seq) || slices.ContainsFunc(seg[:i], again) {
				continue
			}
		}
		keep = append(keep, *h)
	}
	return keep
}
