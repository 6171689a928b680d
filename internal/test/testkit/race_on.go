//go:build race

package testkit

// RaceDetector reports whether this test was built with the race detector, whose shadow memory
// grows with every address used and is never returned.
const RaceDetector = true
