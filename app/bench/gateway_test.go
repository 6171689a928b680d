package bench

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/bench/swarm"
)

// asSwarm is the environment variable that makes this program the clients of the bench gateway.
const asSwarm = "TIDEMARK_BENCH_SWARM"

func TestMain(m *testing.M) {
	if os.Getenv(asSwarm) != "" {
		if err := swarm.Run(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestGatewayOn runs the bench gateway on a few sockets: every measurement completes.
func TestGatewayOn(t *testing.T) {
	t.Setenv(asSwarm, "1") // for the process that is started
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := gatewayOn(ctx, Env{Swarm: []string{self}, Progress: t.Output()},
		crowd{idle: 50, wide: 20, arrivals: 5, single: 10, busy: 2, messages: 100, half: 100 * time.Millisecond, either: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out {
		t.Logf("%+v", r)
		for _, g := range r.Goals {
			if g.Got <= 0 && g.Limit > 0 && !strings.HasPrefix(g.What, "KiB") { // 50 connections are too few to measure memory
				t.Errorf("%s: %v", r.Name, g)
			}
		}
	}
	if len(out) != 10 {
		t.Errorf("%d lines", len(out))
	}
}
