package projections

// Republish marks everything that the records from position since on have changed, so that the next
// Drain publishes it again. It is for a store that is ahead of the group's offsets. Another owner,
// which had folded less, may have published since then: its values are dominated, but they are the
// last ones in the log. Republish does not find keys that a cut has forgotten (Cut.Forgets).
//
// Only the goroutine that folds calls Republish, which takes Lock itself.
func (p *Partition) Republish(since Position) {
	t := &turn{p: p, cause: "again"}
	t.begin()
	defer t.end()
	p.rules.Republish(since, func() { t.spend(1) })
}
