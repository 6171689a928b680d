package main

import (
	"fmt"
	"time"
)

// sessionFlags set how long a node may be silent in any of its groups.
type sessionFlags struct {
	SessionTimeout time.Duration `default:"10s" placeholder:"DURATION" help:"How long this node may be silent, in each of its groups, before its partitions go to others (${default})."`
}

func (f sessionFlags) checkSession() error {
	if f.SessionTimeout <= 0 {
		return fmt.Errorf("--session-timeout %s: it must be above 0; by default brokers allow 6s to 30m", f.SessionTimeout)
	}
	return nil
}
