package paths

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Config says what to measure.
type Config struct {
	Base, Head string // binaries
	Rounds     int
	Share      float64        // of the channels and events, 1 = all; more makes only events more
	Only       *regexp.Regexp // lines whose name it matches; nil = all
	Progress   io.Writer
	// Report gets each figure: of the base or of the head. The echo is reported for the head.
	Report func(base bool, line, what string, value float64)
}

// Run measures all lines in each round, the base before the head. It needs the Kafka and the Redis
// that cmd/servers starts.
func Run(ctx context.Context, c Config) error {
	v := servers{brokers: strings.FieldsFunc(os.Getenv(testkit.BrokersEnv), func(r rune) bool { return r == ',' }), redis: os.Getenv(testkit.RedisEnv)}
	if len(v.brokers) == 0 || v.redis == "" {
		return fmt.Errorf("paths needs $%s and $%s: call it with `make bench-compare`", testkit.BrokersEnv, testkit.RedisEnv)
	}
	var both [2]binary
	for i, path := range []string{c.Base, c.Head} {
		flags, err := flagsOf(ctx, path)
		if err != nil {
			return err
		}
		both[i] = binary{path, flags}
	}
	chosen := choose(c.Only)
	if len(chosen) == 0 {
		return errors.New("no line has a name that -run matches")
	}
	fmt.Fprintln(c.Progress, "warming the broker up")
	for range 4 { // a JVM broker needs about 10 million records until its code is compiled
		if _, err := v.echoOf(ctx, "B", c.Share); err != nil {
			return err
		}
	}
	for round := range c.Rounds {
		if err := c.round(ctx, v, both, chosen, round); err != nil {
			return err
		}
	}
	return nil
}

// choose returns the lines whose names match.
func choose(only *regexp.Regexp) []line {
	return slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return only != nil && !only.MatchString(l.name) })
}

// round measures each line with both binaries, and the echo of a mix before its first line.
func (c Config) round(ctx context.Context, v servers, both [2]binary, chosen []line, round int) error {
	floors := map[string]float64{}
	for _, l := range chosen {
		if l.echo && floors[l.mix] == 0 {
			cpu, err := v.echoOf(ctx, l.mix, c.Share)
			if err != nil {
				return err
			}
			floors[l.mix] = cpu
			c.Report(false, echoName(l.mix), "cpu-s/Mev", cpu)
			fmt.Fprintf(c.Progress, "%s round %d of %d: %s: %.2f cpu-s/Mev\n", clock(), round+1, c.Rounds, echoName(l.mix), cpu)
		}
		for i, b := range both {
			if !l.runs(b.flags) {
				continue
			}
			got, err := v.measure(ctx, b, l.sized(c.Share), c.Share)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", b.path, l.name, err)
			}
			c.report(i == 0, l, got, floors[l.mix])
			fmt.Fprintf(c.Progress, "%s round %d of %d: %s: %s: %.2f cpu-s/Mev, %s\n", clock(), round+1, c.Rounds, []string{"base", "head"}[i], l.name, got.CPU, got.Note)
		}
	}
	return nil
}

// report hands out the figures of a run.
func (c Config) report(base bool, l line, got measured, floor float64) {
	c.Report(base, l.name, "cpu-s/Mev", got.CPU)
	if l.echo {
		c.Report(base, l.name, "times the echo", got.CPU/floor)
	}
	if l.cache {
		c.Report(base, l.name, "bytes of Redis a pair", got.redis)
	}
	if l.disk {
		c.Report(base, l.name, "bytes written an event", got.disk)
	}
}

// echoOf returns the cost of the echo of a mix.
func (v servers) echoOf(ctx context.Context, mix string, share float64) (cpu float64, err error) {
	s, err := newStage(ctx, v.brokers, mixOf(mix, share))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.write(ctx, of(min(share, 1), echoEvents)); err != nil {
		return 0, err
	}
	r, err := s.echo(ctx)
	return r.CPU, err
}

func clock() string { return time.Now().Format("15:04:05") }
