package main

import (
	"fmt"
	"time"

	"github.com/tidemark/tidemark/processor"
)

// progress prints how far a long verb has come, to stderr: on a terminal in one line that changes, else a line now and
// then.
type progress struct {
	a        *app
	verb     string
	every    time.Duration
	said     time.Time
	terminal bool
}

func newProgress(a *app, verb string) *progress {
	p := &progress{a: a, verb: verb, every: 5 * time.Second, said: time.Now(), terminal: isTerminal(a.stderr)}
	if p.terminal {
		p.every = 250 * time.Millisecond
	}
	return p
}

// phase takes how far a phase of a verb is; total 0: nobody knows.
func (p *progress) phase(what string, done, total int) {
	if time.Since(p.said) < p.every {
		return
	}
	p.said = time.Now()
	line := p.verb + ": " + what
	switch {
	case total > 0:
		line += fmt.Sprintf(", %d of %d", done, total)
	case done > 0:
		line += fmt.Sprintf(", %d", done)
	}
	if p.terminal {
		fmt.Fprintf(p.a.stderr, "\r\x1b[K%s", line)
		return
	}
	fmt.Fprintln(p.a.stderr, line)
}

// rebuild takes the progress of a rebuild. The end is always told.
func (p *progress) rebuild(r processor.RebuildProgress) {
	last := r.Finished == r.Partitions
	if !last && time.Since(p.said) < p.every {
		return
	}
	p.said = time.Now()
	share := 100.0
	if r.Total > 0 {
		share = 100 * float64(r.Done) / float64(r.Total)
	}
	line := fmt.Sprintf("%s: %.1f%%, %d of %s, %.0f/s", p.verb, share, r.Done, plural(r.Total, "record"), r.Rate)
	if r.ETA > 0 {
		line += fmt.Sprintf(", %s left", r.ETA.Round(time.Second))
	}
	switch {
	case !p.terminal:
		fmt.Fprintln(p.a.stderr, line)
	case last:
		fmt.Fprintf(p.a.stderr, "\r\x1b[K%s\n", line)
	default:
		fmt.Fprintf(p.a.stderr, "\r\x1b[K%s", line)
	}
}
