package loading

// List has the records under Hot of one channel, in key order, in memory. It implements Records.
type List struct {
	ID []byte // of the channel

	bytes []byte // keys and values, one after the other
	ends  []int  // of each key and of each value
	at    int
}

// Add adds a copy of a record.
func (l *List) Add(key, val []byte) {
	l.bytes = append(append(l.bytes, key...), val...)
	l.ends = append(l.ends, len(l.bytes)-len(val), len(l.bytes))
}

// Len returns the number of records.
func (l *List) Len() int { return len(l.ends) / 2 }

func (l *List) part(i int) []byte {
	from := 0
	if i > 0 {
		from = l.ends[i-1]
	}
	return l.bytes[from:l.ends[i]:l.ends[i]]
}

// First implements Records.
func (l *List) First() bool {
	l.at = 0
	return l.Valid()
}

// Next implements Records.
func (l *List) Next() bool {
	l.at++
	return l.Valid()
}

// Valid implements Records.
func (l *List) Valid() bool { return l.at < l.Len() }

// Key implements Records.
func (l *List) Key() []byte { return l.part(2 * l.at) }

// Value implements Records.
func (l *List) Value() []byte { return l.part(2*l.at + 1) }

// Error implements Records.
func (l *List) Error() error { return nil }

// Close implements Records.
func (l *List) Close() error { return nil }
