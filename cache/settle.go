package cache

import "slices"

// settle compares the values with the known values in Redis. It marks the stale ones, and those for
// which a query to Redis is needed.
func (b *batch) settle() {
	for d := range b.eachDelta {
		var ok bool
		if d.known, ok = d.part.table.get(d.id); ok && !d.gone && d.known.refuses(&d.now.stamp) {
			d.state = stale
		}
		d.asked = !ok && !d.gone
	}
	for i := range b.channels {
		c := &b.channels[i]
		var ok bool
		if c.known, ok = c.part.table.get(c.id); ok && !c.gone && c.known.refuses(&c.Stamp) {
			c.state = stale
		}
		c.asked = !ok && !c.gone && !b.format.NoChannels
	}
}

// learn remembers the new values in Redis and counts outcomes. By then every value is written,
// stale or skipped.
func (b *batch) learn() {
	for d := range b.eachDelta {
		b.tally.ended(d.state)
		switch {
		case d.state == applied && d.gone:
			d.part.table.drop(d.id)
		case d.state == applied:
			d.part.table.put(d.id, d.now)
		case (d.state == stale || d.state == unpublished) && d.asked:
			d.part.table.put(d.id, d.known)
		}
	}
	for i := range b.channels {
		c := &b.channels[i]
		b.tally.ended(c.state)
		switch {
		case c.state == applied && c.gone:
			c.part.table.drop(c.id)
		case c.state == applied:
			c.part.table.put(c.id, known{stamp: c.Stamp, there: true})
		case c.state == stale && c.asked:
			c.part.table.put(c.id, c.known)
		}
	}
}

// eachDelta yields the deltas. Before each 64 it loads their slots in the tables of known values.
func (b *batch) eachDelta(yield func(*delta) bool) {
	for next := range slices.Chunk(b.deltas, ahead) {
		for i := range next {
			if t := next[i].part.table; t.count > 0 {
				b.warmed += byte(t.slots[t.home(next[i].id)].id.Lo)
			}
		}
		for i := range next {
			if !yield(&next[i]) {
				return
			}
		}
	}
}
