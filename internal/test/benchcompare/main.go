// Command benchcompare runs the benches of two binaries by turns and prints the ratio of their
// figures. `make bench-compare BASE=<commit>` builds both and calls it.
//
//	main.go    the flags, and the runs by turns
//	table.go   the figures of all runs, and the table
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 3, "runs of each binary")
	base := flag.String("base", "", "the binary to compare with")
	head := flag.String("head", "bin/tidemark", "the binary that is compared")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: benchcompare -base FILE [-head FILE] [-rounds N] [BENCH ...]\n\nBENCH: as in tidemark bench --help; fold and memory by default.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *base == "" || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	benches := flag.Args()
	if len(benches) == 0 {
		benches = []string{"fold", "memory"}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := byTurns(ctx, *rounds, *base, *head, benches); err != nil {
		fmt.Fprintln(os.Stderr, "benchcompare:", err)
		os.Exit(1)
	}
}

// byTurns runs base and head one after the other, rounds times each, and prints the table. Taking
// turns exposes both to whatever slows the machine for a while.
func byTurns(ctx context.Context, rounds int, base, head string, benches []string) error {
	var order []figure
	of := map[string]figures{base: {}, head: {}}
	begun := time.Now()
	for i := range 2 * rounds {
		binary := []string{base, head}[i%2]
		fmt.Fprintf(os.Stderr, "run %d of %d: %s bench %s", i+1, 2*rounds, binary, strings.Join(benches, " "))
		if i > 0 {
			left := time.Since(begun) / time.Duration(i) * time.Duration(2*rounds-i)
			fmt.Fprintf(os.Stderr, ", about %v left", left.Round(time.Second))
		}
		fmt.Fprintln(os.Stderr)
		output, err := bench(ctx, binary, benches)
		if err != nil {
			return err
		}
		seen, err := of[binary].add(output)
		if err != nil {
			return fmt.Errorf("%s: %w", binary, err)
		}
		for _, at := range seen {
			if !slices.Contains(order, at) {
				order = append(order, at)
			}
		}
	}
	return print(os.Stdout, order, of[base], of[head])
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
