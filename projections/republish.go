package projections

// Republish marks what the records from position since on have changed, so that the next Drain
// publishes it once more. It is for a store that is ahead of the group's offsets. Since then
// another owner may have published what it had folded, which was less: its values are dominated,
// but they are the last in the log. Republish does not find what a cut has forgotten (Cut.Forgets).
//
// Like Drain it belongs to the goroutine that folds, and takes Lock itself.
func (p *Partition) Republish(since Position) {
	t := &turn{p: p, cause: "again"}
	t.begin()
	defer t.end()
	p.rules.Republish(since, func() { t.spend(1) })
}
