package projections

// SayAgain marks what the records from position since on have changed, so that the next Drain emits
// it once more. It is for a store that is ahead of the group's offsets. Another owner may have
// published since then what it had folded, which was less: its values are dominated and stand last.
// What a cut forgets (Cut.Forgets) it does not find.
//
// Like Drain it belongs to the goroutine that folds, and takes Lock itself.
func (p *Partition) SayAgain(since Position) {
	t := &turn{p: p, cause: "again"}
	t.begin()
	defer t.end()
	p.rules.SayAgain(since, func() { t.spend(1) })
}
