package snapshots

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/snapshot"
)

// Progress prints the progress of a partition on stderr: on a terminal in one changing line, else
// now and then.
func Progress(a *verbs.App, partition int32) (report snapshot.Report, end func()) {
	return newBoard(a).of(partition)
}

// board prints the progress of partitions that are worked on side by side, all in one line.
type board struct {
	app      *verbs.App
	terminal bool
	every    time.Duration

	mu      sync.Mutex
	printed time.Time
	width   int                         // of the line that is on the terminal
	running map[int32]snapshot.Progress // by partition
}

func newBoard(a *verbs.App) *board {
	b := &board{app: a, terminal: term.IsTerminal(a.Stderr), every: 5 * time.Second, printed: time.Now(), running: map[int32]snapshot.Progress{}}
	if b.terminal {
		b.every = 200 * time.Millisecond
	}
	return b
}

// of returns the report of a partition, and what ends it.
func (b *board) of(partition int32) (report snapshot.Report, end func()) {
	report = func(p snapshot.Progress) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.running[partition] = p
		if now := time.Now(); now.Sub(b.printed) >= b.every {
			b.printed = now
			b.show(progressLine(b.running))
		}
	}
	return report, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.running, partition)
		b.clear()
	}
}

// between calls print while no progress is printed, with the changing line cleared.
func (b *board) between(print func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	return print()
}

func (b *board) show(line string) {
	if !b.terminal {
		fmt.Fprintln(b.app.Stderr, line)
		return
	}
	fmt.Fprintf(b.app.Stderr, "\r%-*s", b.width, line)
	b.width = len(line)
}

func (b *board) clear() {
	if b.width > 0 {
		fmt.Fprintf(b.app.Stderr, "\r%*s\r", b.width, "")
		b.width = 0
	}
}

// progressLine sums up the partitions whose size is known. The time left is that of the slowest.
func progressLine(running map[int32]snapshot.Progress) string {
	var sum snapshot.Progress
	var numbers, phases []string
	for _, n := range slices.Sorted(maps.Keys(running)) {
		p := running[n]
		numbers = append(numbers, fmt.Sprint(n))
		if !slices.Contains(phases, string(p.Phase)) {
			phases = append(phases, string(p.Phase))
		}
		if p.Total > 0 {
			sum.Done, sum.Total, sum.Rate, sum.ETA = sum.Done+p.Done, sum.Total+p.Total, sum.Rate+p.Rate, max(sum.ETA, p.ETA)
		}
	}
	line := "partition "
	if len(numbers) > 1 {
		line = "partitions "
	}
	line += strings.Join(numbers, ", ") + ": " + strings.Join(phases, ", ")
	if sum.Total > 0 {
		line += fmt.Sprintf(" %.1f%% of %s, %s/s, %s left", 100*float64(sum.Done)/float64(sum.Total), config.Bytes(sum.Total),
			config.Bytes(sum.Rate), sum.ETA.Round(time.Second))
	}
	return line
}
