package arena

// Vacant counts the rows of a list that are gone but still linked. Lists are linked in one
// direction, so rows are unlinked by walking the whole list, once that costs at most walkPer steps
// for each gone row.
type Vacant struct {
	Rows uint32
	next uint32 // number of gone rows at which to measure the list again
}

const walkPer = 16

// Due reports whether to walk the list now. length reports whether the list has at most limit rows.
// If it is longer, Due does not measure it again before the number of gone rows has doubled.
func (v *Vacant) Due(length func(limit int) bool) bool {
	if v.Rows < v.next {
		return false
	}
	if length(walkPer * int(v.Rows+1)) {
		return true
	}
	v.next = 2 * v.Rows
	return false
}
