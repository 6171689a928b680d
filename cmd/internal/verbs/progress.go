package verbs

import (
	"fmt"
	"time"

	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/processor"
)

// Progress prints the progress of a long verb to stderr: on a terminal in one changing line, else
// in a line now and then.
type Progress struct {
	a        *App
	verb     string
	every    time.Duration
	printed  time.Time
	phase    string // used by Walk
	begun    time.Time
	terminal bool
}

// NewProgress returns the progress of a verb that begins now.
func NewProgress(a *App, verb string) *Progress {
	p := &Progress{a: a, verb: verb, every: 5 * time.Second, printed: time.Now(), terminal: term.IsTerminal(a.Stderr)}
	if p.terminal {
		p.every = 250 * time.Millisecond
	}
	return p
}

// Phase takes the progress of a phase of a verb; total 0 means unknown.
func (p *Progress) Phase(what string, done, total int) {
	if time.Since(p.printed) < p.every {
		return
	}
	p.printed = time.Now()
	line := term.Printable(p.verb + ": " + what)
	switch {
	case total > 0:
		line += fmt.Sprintf(", %d of %d", done, total)
	case done > 0:
		line += fmt.Sprintf(", %d", done)
	}
	if p.terminal {
		fmt.Fprintf(p.a.Stderr, "\r\x1b[K%s", line)
		return
	}
	fmt.Fprintln(p.a.Stderr, line)
}

// Walk takes the progress of a phase of a verb, and prints its rate and the remaining time; total 0
// means unknown.
func (p *Progress) Walk(what string, done, total int64) {
	if what != p.phase {
		p.phase, p.begun = what, time.Now()
	}
	if time.Since(p.printed) < p.every {
		return
	}
	rate := float64(done) / max(time.Since(p.begun).Seconds(), 0.001)
	line := fmt.Sprintf("%s, %d", what, done)
	if total > 0 {
		line += fmt.Sprintf(" of %d", total)
	}
	line += fmt.Sprintf(", %.0f/s", rate)
	if left := float64(total - done); left > 0 && rate > 0 {
		line += fmt.Sprintf(", %s left", (time.Duration(left/rate) * time.Second).String())
	}
	p.Phase(line, 0, 0)
}

// End ends the line that changes.
func (p *Progress) End() {
	if p.terminal {
		fmt.Fprint(p.a.Stderr, "\r\x1b[K")
	}
}

// Rebuild takes the progress of a rebuild. It always prints the end.
func (p *Progress) Rebuild(r processor.RebuildProgress) {
	last := r.Finished == r.Partitions
	if !last && time.Since(p.printed) < p.every {
		return
	}
	p.printed = time.Now()
	share := 100.0
	if r.Total > 0 {
		share = 100 * float64(r.Done) / float64(r.Total)
	}
	line := fmt.Sprintf("%s: %.1f%%, %d of %s, %.0f/s", p.verb, share, r.Done, term.Plural(r.Total, "record"), r.Rate)
	if r.ETA > 0 {
		line += fmt.Sprintf(", %s left", r.ETA.Round(time.Second))
	}
	switch {
	case !p.terminal:
		fmt.Fprintln(p.a.Stderr, line)
	case last:
		fmt.Fprintf(p.a.Stderr, "\r\x1b[K%s\n", line)
	default:
		fmt.Fprintf(p.a.Stderr, "\r\x1b[K%s", line)
	}
}
