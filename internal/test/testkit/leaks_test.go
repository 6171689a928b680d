package testkit

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestLeaksFindsWhatIsLeft: a goroutine that nobody ends, until somebody does.
func TestLeaksFindsWhatIsLeft(t *testing.T) {
	others := goleak.IgnoreCurrent()
	stop := make(chan struct{})
	go func() { <-stop }()
	if err := leaks(0, others); err == nil || !strings.Contains(err.Error(), "TestLeaksFindsWhatIsLeft") {
		t.Errorf("a goroutine is left, and leaks returns %v", err)
	}
	close(stop)
	if err := leaks(leakPatience, others); err != nil {
		t.Errorf("nothing is left, and leaks returns %v", err)
	}
}
