package snapshots

import (
	"fmt"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/snapshot"
)

// Progress prints the progress of a partition on stderr: on a terminal in one changing line, else
// now and then.
func Progress(a *verbs.App, partition int32) (report snapshot.Report, end func()) {
	terminal := term.IsTerminal(a.Stderr)
	every := 5 * time.Second
	if terminal {
		every = 200 * time.Millisecond
	}
	printed, width := time.Now(), 0
	report = func(p snapshot.Progress) {
		if now := time.Now(); now.Sub(printed) >= every {
			printed = now
			line := progressLine(partition, p)
			if !terminal {
				fmt.Fprintln(a.Stderr, line)
				return
			}
			fmt.Fprintf(a.Stderr, "\r%-*s", width, line)
			width = len(line)
		}
	}
	return report, func() {
		if width > 0 {
			fmt.Fprintf(a.Stderr, "\r%*s\r", width, "")
		}
	}
}

func progressLine(partition int32, p snapshot.Progress) string {
	line := fmt.Sprintf("partition %d: %s", partition, p.Phase)
	if p.Total > 0 {
		line += fmt.Sprintf(" %.1f%% of %s, %s/s, %s left", 100*float64(p.Done)/float64(p.Total), config.Bytes(p.Total),
			config.Bytes(p.Rate), p.ETA.Round(time.Second))
	}
	return line
}
