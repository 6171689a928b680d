package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/app/bench"
	"github.com/tidemark/tidemark/app/bench/cluster"
	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/app/bench/inboxes"
	"github.com/tidemark/tidemark/app/bench/partition"
	"github.com/tidemark/tidemark/app/bench/swarm"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

// benchCmd measures this machine. It needs no node. The benches of the whole path need brokers and
// a Redis of their own, which they fill. The benches of the locks and of the gateway run on
// embedded servers if there are none.
type benchCmd struct {
	Names   []string      `arg:"" optional:"" help:"Benches to run: fold, scale, memory, cold, logs, snapshot, inbox, live, messages, growth, flat, handover, node, replay, serve, locks, gateway; all by default."`
	Brokers []string      `help:"Brokers to measure on; without them the benches of the whole path are left out." env:"TIDEMARK_TEST_BROKERS"`
	Redis   string        `help:"Redis to measure on." env:"TIDEMARK_TEST_REDIS"`
	Soak    time.Duration `default:"2m" help:"How long the bench node watches the memory of a node; its goal is for one hour."`
	Profile string        `name:"cpu-profile" type:"path" placeholder:"FILE" help:"Write a CPU profile of this process for go tool pprof."`
	JSON    bool          `name:"json" help:"Print one JSON object a line."`
}

// Help is shown below the flags.
func (*benchCmd) Help() string {
	return `CPU seconds are those of all processes for a million input events, so they hardly depend on what else runs.

Example:
  tidemark bench fold scale
  make bench                 # all of them, on an Apache Kafka and a Redis that it starts
  make bench ARGS="node --soak 1h"`
}

// benches are in the order in which they run.
var benches = []string{"fold", "scale", "memory", "cold", "logs", "snapshot", "inbox", "live", "messages", "growth", "flat", "handover", "node", "replay", "serve", "locks", "gateway"}

// alone are the benches that need no brokers.
var alone = []string{"fold", "scale", "memory", "cold", "logs", "snapshot", "inbox", "flat", "locks", "gateway"}

// swarmName is the bench that runs the clients for the bench of the gateway, which starts them in a
// process of their own.
const swarmName = "swarm"

// Run measures and prints each bench as it ends.
func (c *benchCmd) Run(a *verbs.App) error {
	names := c.Names
	if len(names) == 0 {
		names = benches
		if len(c.Brokers) == 0 {
			names = alone
			fmt.Fprintln(a.Stderr, "no --brokers: skipping the benches of the whole path (make bench starts brokers)")
		}
	}
	if len(names) == 1 && names[0] == swarmName {
		return swarm.Run(a.Ctx, a.Stdin, a.Stdout)
	}
	for _, name := range names {
		switch {
		case !slices.Contains(benches, name):
			return verbs.Usagef("there is no bench %q; there are %s", name, strings.Join(benches, ", "))
		case len(c.Brokers) == 0 && !slices.Contains(alone, name):
			return verbs.Usagef("the bench %q needs --brokers; these need none: %s", name, strings.Join(alone, ", "))
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
		return fmt.Errorf("find this program's file, which the benches run again as the gateway's clients and as nodes: %w", err)
	}
	env := bench.Env{Brokers: c.Brokers, Redis: c.Redis, Progress: a.Stderr, Swarm: []string{self, "bench", swarmName}}
	for _, name := range names {
		began := time.Now()
		results, err := c.one(a, name, env)
		if err != nil {
			return fmt.Errorf("bench %s: %w", name, err)
		}
		if c.JSON {
			for _, r := range results {
				if err := json.NewEncoder(a.Stdout).Encode(r); err != nil {
					return err
				}
			}
			continue
		}
		fmt.Fprintf(a.Stdout, "\n%s (%s)\n", name, time.Since(began).Round(time.Second))
		if err := gauge.Print(a.Stdout, results); err != nil {
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
		_ = f.Close() // reading the profile reports a profile that is cut short
	}, nil
}

func (c *benchCmd) one(a *verbs.App, name string, env bench.Env) ([]gauge.Result, error) {
	switch name {
	case "fold":
		return partition.Fold(a.Ctx)
	case "scale":
		return partition.Scale(a.Ctx)
	case "memory":
		if len(c.Names) == 1 {
			return partition.Memory(a.Ctx)
		}
		return inOwnProcess(a.Ctx, name)
	case "cold":
		if len(c.Names) == 1 {
			return partition.Cold(a.Ctx)
		}
		return inOwnProcess(a.Ctx, name)
	case "logs":
		return partition.Logs(a.Ctx)
	case "snapshot":
		return partition.Snapshots(a.Ctx)
	case "inbox":
		return inboxes.Run(a.Ctx, a.Stderr)
	case "live":
		return bench.Live(a.Ctx, env)
	case "growth":
		return bench.Growth(a.Ctx, env)
	case "flat":
		out, err := bench.Flat(a.Ctx, env)
		if err != nil {
			return out, err
		}
		asleep, err := partition.Flat(a.Ctx)
		return append(out, asleep...), err
	case "handover":
		return bench.Handover(a.Ctx, env)
	case "node":
		return cluster.Run(a.Ctx, cluster.Env{Brokers: env.Brokers, Program: env.Swarm[0], Progress: env.Progress}, c.Soak)
	case "replay":
		return bench.Replay(a.Ctx, env)
	case "messages":
		return bench.Messages(a.Ctx, env)
	case "locks":
		return bench.Locks(a.Ctx, env)
	case "gateway":
		return bench.Gateway(a.Ctx, env)
	default:
		return bench.Serve(a.Ctx, env)
	}
}

// inOwnProcess runs a bench of memory in a process of its own.
func inOwnProcess(ctx context.Context, name string) (out []gauge.Result, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "bench", name, "--json")
	cmd.Stderr = os.Stderr
	lines, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(lines)); ; {
		var r gauge.Result
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
}
