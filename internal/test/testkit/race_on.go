//go:build race

package testkit

// RaceDetector tells whether this test was built with the race detector, which has memory of its
// own for each address that was ever used and never gives it back.
const RaceDetector = true
