package projections

// Beside is an empty partition over the store of another that is empty too, and stays so: neither may be cut. It costs no
// opening, and is not closed.
func Beside(p *Partition) *Partition {
	q := newPartition(p.id)
	q.db, q.room = p.db, p.room
	return q
}
