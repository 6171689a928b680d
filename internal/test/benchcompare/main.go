// Command benchcompare measures two binaries by turns and prints the ratio of their figures. `make
// bench-compare BASE=<commit>` builds both and calls it. It runs their own benches, or with the
// argument paths each of them as a node (package paths), which works with any binary that has the
// verb `run`.
//
//	main.go    the flags, and the runs by turns
//	table.go   the figures of all runs, and the table
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/internal/test/benchcompare/paths"
)

const usage = `usage: benchcompare -base FILE [-head FILE] [-rounds N] [-share SHARE] [-run REGEXP] [BENCH ...]

BENCH: as in tidemark bench --help, fold and memory by default; or paths, which runs both
binaries as nodes with the mixes A, B and C, with and without Redis, against one Kafka and
one Redis. "-share 0.02 paths" tries this in a minute.

`

func main() {
	c := comparison{out: os.Stdout, progress: os.Stderr}
	flag.IntVar(&c.rounds, "rounds", 3, "runs of each binary")
	flag.StringVar(&c.base, "base", "", "the binary to compare with")
	flag.StringVar(&c.head, "head", "bin/tidemark", "the binary that is compared")
	flag.Float64Var(&c.share, "share", 1, "share of the channels and events of paths; above 1, more events in as many channels")
	only := flag.String("run", "", "measure only lines of paths whose name matches this regular expression")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	var err error
	if c.only, err = regexp.Compile(*only); err != nil || c.base == "" || c.rounds < 1 || c.share <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	c.benches = flag.Args()
	if len(c.benches) == 0 {
		c.benches = []string{"fold", "memory"}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "benchcompare:", err)
		os.Exit(1)
	}
}

// comparison is what to measure of which binaries.
type comparison struct {
	base, head    string
	rounds        int
	benches       []string // of the binaries, or paths
	share         float64
	only          *regexp.Regexp
	out, progress io.Writer
}

// run measures both binaries and prints the table, also of what was measured before an error.
func (c comparison) run(ctx context.Context) error {
	var order []figure
	base, head := figures{}, figures{}
	note := func(of figures, at figure, value float64) {
		of.put(at, value)
		if !slices.Contains(order, at) {
			order = append(order, at)
		}
	}
	own := slices.DeleteFunc(slices.Clone(c.benches), func(b string) bool { return b == "paths" })
	var err error
	if len(own) > 0 {
		err = c.byTurns(ctx, own, base, head, note)
	}
	if err == nil && len(own) < len(c.benches) {
		err = paths.Run(ctx, paths.Config{
			Base: c.base, Head: c.head, Rounds: c.rounds, Share: c.share, Only: c.only, Progress: c.progress,
			Report: func(ofBase bool, line, what string, value float64) {
				of := head
				if ofBase {
					of = base
				}
				note(of, figure{line, what}, value)
			},
		})
	}
	if len(order) == 0 {
		return err
	}
	return errors.Join(print(c.out, order, base, head), err)
}

// byTurns runs benches of base and head one after the other, and hands each figure to note. Taking
// turns exposes both to whatever slows the machine for a while.
func (c comparison) byTurns(ctx context.Context, benches []string, base, head figures, note func(figures, figure, float64)) error {
	begun := time.Now()
	for i := range 2 * c.rounds {
		binary, of := c.base, base
		if i%2 == 1 {
			binary, of = c.head, head
		}
		fmt.Fprintf(c.progress, "run %d of %d: %s bench %s", i+1, 2*c.rounds, binary, strings.Join(benches, " "))
		if i > 0 {
			left := time.Since(begun) / time.Duration(i) * time.Duration(2*c.rounds-i)
			fmt.Fprintf(c.progress, ", about %v left", left.Round(time.Second))
		}
		fmt.Fprintln(c.progress)
		output, err := bench(ctx, binary, benches)
		if err != nil {
			return err
		}
		if err := parse(output, func(at figure, value float64) { note(of, at, value) }); err != nil {
			return fmt.Errorf("%s: %w", binary, err)
		}
	}
	return nil
}

// bench runs the benches of a binary once and returns their lines.
func bench(ctx context.Context, binary string, benches []string) ([]byte, error) {
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, binary, append([]string{"bench", "--json"}, benches...)...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s bench %s: %w\n%s", binary, strings.Join(benches, " "), err, errs.String())
	}
	return out.Bytes(), nil
}
