//go:build !linux

package arena

// adviseHuge does nothing where there is no such advice.
func adviseHuge[T any]([]T) {}
