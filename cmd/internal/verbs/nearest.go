package verbs

import "slices"

// Nearest returns the known name that differs from name by the fewest bytes.
func Nearest(name string, known []string) string {
	return slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

// distance counts the bytes to insert, remove or replace to turn one text into the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
