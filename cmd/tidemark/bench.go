package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/internal/bench"
)

// benchCmd measures this machine. It needs no node; the benches of the whole path need brokers and a Redis of their
// own, which they fill. That of the gateway runs on embedded ones if there are none.
type benchCmd struct {
	Names   []string `arg:"" optional:"" help:"Which: fold, scale, memory, snapshot, live, messages, growth, handover, replay, serve, gateway; all by default."`
	Brokers []string `help:"Brokers to measure on; the benches of the whole path are left out without." env:"TIDEMARK_TEST_BROKERS"`
	Redis   string   `help:"Redis to measure on." env:"TIDEMARK_TEST_REDIS"`
	Profile string   `name:"cpu-profile" type:"path" placeholder:"FILE" help:"Write a CPU profile of this process for go tool pprof."`
	JSON    bool     `name:"json" help:"Print one JSON object a line."`
}

// Help is shown below the flags.
func (*benchCmd) Help() string {
	return `CPU seconds are those of all processes for a million input events, so they hardly depend on what else runs.

Example:
  tidemark bench fold scale
  make bench                 # all of them, on an Apache Kafka and a Redis that it starts`
}

// benches in the order in which they run.
var benches = []string{"fold", "scale", "memory", "snapshot", "live", "messages", "growth", "handover", "replay", "serve", "gateway"}

// swarm is the clients of the gateway's bench, which starts them in a process of their own.
const swarm = "swarm"

// Run measures and prints each bench as it ends.
func (c *benchCmd) Run(a *app) error {
	names := c.Names
	if len(names) == 0 {
		names = benches
		if len(c.Brokers) == 0 {
			names = append(slices.Clone(benches[:4]), "gateway")
			fmt.Fprintln(a.stderr, "no --brokers: the benches of the whole path are left out (make bench starts brokers)")
		}
	}
	if len(names) == 1 && names[0] == swarm {
		return bench.Swarm(a.ctx, a.stdin, a.stdout)
	}
	for _, name := range names {
		if !slices.Contains(benches, name) {
			return usagef("there is no bench %q; there are %s", name, strings.Join(benches, ", "))
		}
	}
	if c.Profile != "" {
		stop, err := profile(c.Profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("this program cannot be found, and so not be run as the clients of the gateway: %w", err)
	}
	env := bench.Env{Brokers: c.Brokers, Redis: c.Redis, Progress: a.stderr, Swarm: []string{self, "bench", swarm}}
	for _, name := range names {
		began := time.Now()
		results, err := c.one(a, name, env)
		if err != nil {
			return fmt.Errorf("bench %s: %w", name, err)
		}
		if c.JSON {
			for _, r := range results {
				if err := json.NewEncoder(a.stdout).Encode(r); err != nil {
					return err
				}
			}
			continue
		}
		fmt.Fprintf(a.stdout, "\n%s (%s)\n", name, time.Since(began).Round(time.Second))
		if err := bench.Print(a.stdout, results); err != nil {
			return err
		}
	}
	return nil
}

// profile writes a CPU profile until the returned function is called.
func profile(file string) (stop func(), err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // a profile cut short says so when it is read
	}, nil
}

func (c *benchCmd) one(a *app, name string, env bench.Env) ([]bench.Result, error) {
	switch name {
	case "fold":
		return bench.Fold(a.ctx)
	case "scale":
		return bench.Scale(a.ctx)
	case "memory":
		if len(c.Names) == 1 {
			return bench.Memory(a.ctx)
		}
		return memoryAlone(a.ctx)
	case "snapshot":
		return bench.Snapshots(a.ctx)
	case "live":
		return bench.Live(a.ctx, env)
	case "growth":
		return bench.Growth(a.ctx, env)
	case "handover":
		return bench.Handover(a.ctx, env)
	case "replay":
		return bench.Replay(a.ctx, env)
	case "messages":
		return bench.Messages(a.ctx, env)
	case "gateway":
		return bench.Gateway(a.ctx, env)
	default:
		return bench.Serve(a.ctx, env)
	}
}

// memoryAlone runs the memory bench in a process of its own.
func memoryAlone(ctx context.Context) ([]bench.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "bench", "memory", "--json")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var r bench.Result
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, err
	}
	return []bench.Result{r}, nil
}
