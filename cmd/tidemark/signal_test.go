package main

import (
	"os"
	"testing"
	"time"
)

// A supervisor that signals a process and its group sends a signal twice: that is no second wish.
func TestOneSignalTwiceIsOne(t *testing.T) {
	signals := make(chan os.Signal, 2)
	signals <- os.Interrupt
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		secondSignal(signals, time.Now())
	}()
	select {
	case <-ended:
		t.Fatal("the same signal again ended the process")
	case <-time.After(50 * time.Millisecond):
	}
	close(signals)
	<-ended
	signals = make(chan os.Signal, 1)
	signals <- os.Interrupt
	secondSignal(signals, time.Now().Add(-2*sameSignal)) // returns
}
