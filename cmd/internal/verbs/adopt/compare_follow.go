package adopt

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/importer/compare"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/term"
)

// followFlags are the flags of a repeated comparison.
type followFlags struct {
	Follow    bool          `help:"Repeat the comparison, with metrics at --listen, until you stop it."`
	Every     time.Duration `default:"1m" placeholder:"TIME" help:"With --follow, the time between the starts of two comparisons (${default}); after one that takes longer, the next begins at once."`
	Listen    string        `placeholder:"HOST:PORT" help:"With --follow, the address for health and metrics."`
	LogFormat string        `enum:"text,json" default:"text" placeholder:"FORMAT" help:"With --follow, form of log lines: text or json (${default})."`
}

func (f *followFlags) check() error {
	switch {
	case f.Follow && f.Listen == "":
		return errors.New("--follow serves metrics: name the address with --listen HOST:PORT")
	case !f.Follow && f.Listen != "":
		return errors.New("--listen is for --follow: a single comparison has no metrics")
	case f.Every <= 0:
		return fmt.Errorf("--every %v: it must be longer than 0", f.Every)
	}
	return nil
}

// following is a repeated comparison.
type following struct {
	mu   sync.Mutex
	done bool
	err  error // of the last round
}

// Ready reports whether the last comparison was possible.
func (f *following) Ready() obs.Readiness {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return obs.Readiness{Lines: []string{"the last comparison failed: " + f.err.Error()}}
	case !f.done:
		return obs.Readiness{Lines: []string{"the first comparison is under way"}}
	}
	return obs.Readiness{Ready: true}
}

func (f *following) ended(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.err = f.done || err == nil, err
}

// follow compares until the command is stopped. With --json it prints each number that has another
// difference than in the round before.
func (c *Compare) follow(a *verbs.App, mapping product.Mapping, sample int) error {
	log, err := obs.NewLogger(a.Stderr, c.LogFormat, "info")
	if err != nil {
		return err
	}
	registry := obs.NewRegistry(a.Build)
	metrics, f := compare.NewMetrics(registry), &following{}
	stop, err := serve(c.Listen, f.Ready, log, registry)
	if err != nil {
		return err
	}
	defer stop()
	var before map[compare.Pair]string
	for {
		begun, now := time.Now(), map[compare.Pair]string{}
		res, err := c.compare(a, "", mapping, sample, func(l *compare.Line) error {
			if l.Bucket == compare.Equal {
				return nil
			}
			text := l.String()
			now[l.Pair] = text
			if !c.JSON || before[l.Pair] == text {
				return nil
			}
			return term.PrintJSON(a.Stdout, l)
		})
		if a.Ctx.Err() != nil {
			return nil
		}
		f.ended(err)
		metrics.Round(res, time.Since(begun), err)
		if err != nil {
			log.Warn("a comparison failed", "error", err)
		} else {
			before = now
			if res.Unknown != "" {
				log.Warn("numbers called stale may lack what came while their user had muted the channel", "reason", res.Unknown)
			}
			log.Info("compared", resultFields(res)...)
		}
		select {
		case <-a.Ctx.Done():
			return nil
		case <-time.After(max(0, c.Every-time.Since(begun))):
		}
	}
}

// resultFields returns the result of a round as log attributes.
func resultFields(res *compare.Result) (fields []any) {
	fields = append(fields, slog.Int("numbers", res.Pairs), slog.Int("users", res.Users))
	for _, b := range compare.Buckets {
		fields = append(fields, slog.Int(string(b), res.Buckets[b]))
	}
	return fields
}
