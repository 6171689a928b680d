//go:build !linux

package projections

// adviseHuge does nothing where there is no such advice.
func adviseHuge[T any]([]T) {}
