package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Moment is the set of transactions that a database snapshot includes. It is the text of
// pg_current_snapshot.
type Moment struct {
	least, next uint64 // all before least have ended; none from next on has
	open        []uint64
}

// ParseMoment parses the text of a snapshot, such as 740:745:740,742.
func ParseMoment(text string) (*Moment, error) {
	parts := strings.Split(text, ":")
	var m Moment
	var err, err2 error
	if len(parts) == 3 {
		m.least, err = strconv.ParseUint(parts[0], 10, 64)
		m.next, err2 = strconv.ParseUint(parts[1], 10, 64)
	}
	if len(parts) != 3 || err != nil || err2 != nil {
		return nil, fmt.Errorf("%q is not a snapshot of a database", text)
	}
	for id := range strings.SplitSeq(parts[2], ",") {
		if id == "" {
			continue
		}
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a snapshot of a database", text)
		}
		m.open = append(m.open, n)
	}
	return &m, nil
}

// Has reports whether the snapshot includes a committed transaction, given the lower 32 bits of its
// number.
func (m *Moment) Has(id uint32) bool {
	const era = 1 << 32
	whole := m.next&^(era-1) | uint64(id)
	switch {
	case whole > m.next+era/2 && whole >= era:
		whole -= era
	case whole+era/2 < m.next:
		whole += era
	}
	return whole < m.next && (whole < m.least || !slices.Contains(m.open, whole))
}
