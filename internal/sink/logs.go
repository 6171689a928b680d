package sink

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/internal/retry"
)

// askFor bounds one request about the logs.
const askFor = 10 * time.Second

// Logs requests the beginnings and ends of the topics' logs from the brokers.
type Logs struct {
	Admin              *kadm.Client
	Topics             []string
	RetryMin, RetryMax time.Duration // pauses between requests that fail
	Logger             *slog.Logger
}

// Extents returns the extent of each partition of list. It repeats the request until the brokers
// report all of them, or until ctx is done.
func (l *Logs) Extents(ctx context.Context, list []Partition) ([]Extent, error) {
	pause := retry.Backoff{Min: l.RetryMin, Max: l.RetryMax}
	for {
		logs, err := l.extents(ctx, list)
		if err == nil {
			return logs, nil
		}
		if !pause.Wait(ctx) {
			return nil, err
		}
		l.Logger.Warn("the extent of the topics is unknown; the request is repeated", "error", err)
	}
}

func (l *Logs) extents(ctx context.Context, list []Partition) ([]Extent, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	starts, err := l.Admin.ListStartOffsets(ctx, l.Topics...)
	if err != nil {
		return nil, fmt.Errorf("starts of the logs: %w", err)
	}
	ends, err := l.Admin.ListEndOffsets(ctx, l.Topics...)
	if err != nil {
		return nil, fmt.Errorf("ends of the logs: %w", err)
	}
	logs := make([]Extent, len(list))
	for i, p := range list {
		for _, of := range []struct {
			list kadm.ListedOffsets
			to   *int64
		}{{starts, &logs[i].Start}, {ends, &logs[i].End}} {
			o, ok := of.list.Lookup(p.Topic, p.Number)
			if !ok {
				return nil, fmt.Errorf("%s: the brokers do not report the extent of the log", p)
			}
			if o.Err != nil {
				return nil, fmt.Errorf("%s: extent of the log: %w", p, o.Err)
			}
			*of.to = o.Offset
		}
	}
	return logs, nil
}

// WatchEnds calls fn at intervals with the ends of the logs, until ctx is done. The end in a
// fetched answer is as old as the fetch; these ends are true even while the target is slow or does
// not answer. Failed requests are left out, because the client logs unreachable brokers.
func (l *Logs) WatchEnds(ctx context.Context, every time.Duration, fn func(kadm.ListedOffsets)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ask, cancel := context.WithTimeout(ctx, askFor)
		ends, err := l.Admin.ListEndOffsets(ask, l.Topics...)
		cancel()
		if err == nil {
			fn(ends)
		}
	}
}
