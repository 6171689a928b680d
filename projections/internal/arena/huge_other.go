//go:build !linux

package arena

// adviseHuge does nothing on systems without this advice.
func adviseHuge[T any]([]T) {}
