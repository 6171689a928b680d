package partition

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/projections"
)

// Logs measures what 10 and 1 million messages take in a store in which the log of a channel ends
// (--trim-log), and 1 million and 200,000 in one that keeps it. The messages are of 27 years. All
// but the newest 1 % are older than the retention. Their ids do not grow with time, so each message
// that can still be named has an index entry.
func Logs(ctx context.Context) (out []gauge.Result, err error) {
	for _, l := range []struct {
		messages int
		trim     bool
	}{{10_000_000, true}, {1_000_000, true}, {1_000_000, false}, {200_000, false}} {
		r, err := logsOf(ctx, l.messages, l.trim)
		if err != nil {
			return out, err
		}
		if l.trim && len(out) > 0 { // what it takes while it grows hardly depends on so few messages
			r[0].Goals = r[0].Goals[:1]
		}
		out = append(out, r...)
	}
	return out, nil
}

func logsOf(ctx context.Context, n int, trim bool) ([]gauge.Result, error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store := filepath.Join(dir, "store")
	largest, err := foldOld(ctx, store, n, trim)
	if err != nil {
		return nil, err
	}
	disk, err := compacted(store)
	if err != nil {
		return nil, err
	}
	each := fmt.Sprintf("%.2f bytes a message", float64(disk)/float64(n))
	if !trim {
		return []gauge.Result{{
			Name: fmt.Sprintf("a store of %d messages that keeps all of them", n),
			Note: fmt.Sprintf("%.0f MB after compaction, %.0f MB at most while it grows; %s", float64(disk)/1e6, float64(largest)/1e6, each),
		}}, nil
	}
	limit := float64(n) * 4 / 1e6
	return []gauge.Result{{
		Name: fmt.Sprintf("S6: a store of %d messages, 1 %% of them within the retention", n),
		Goals: []gauge.Goal{
			gauge.AtMost("MB after compaction", float64(disk)/1e6, limit),
			gauge.AtMost("MB at most while it grows, Pebble's log included", float64(largest)/1e6, 1.2*limit),
		},
		Note: each,
	}}, nil
}

// foldOld folds n messages into a store opened as by a node with --memory 1GiB. It returns the largest
// size of the store's directory after a cut.
func foldOld(ctx context.Context, dir string, n int, trim bool) (largest int64, err error) {
	settings := projections.DefaultSettings()
	settings.TrimLog = trim
	shares, err := config.PlanMemory(1<<30, 1)
	if err != nil {
		return 0, err
	}
	d, err := openWith(dir, settings, roomOf(shares))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	p := d.p
	d.replay()
	const years, day = 27, int64(24 * 3600 * 1000)
	step := years * 365 * day / int64(n)
	rng := rand.New(rand.NewPCG(1, 2))
	now := int64(1_000_000_000_000)
	for i := range n {
		now += rng.Int64N(2*step + 1)
		channel := fmt.Appendf(nil, "channel-%018d", rng.IntN(max(1, n/10_000)))
		user := fmt.Appendf(nil, "user-%021d", rng.IntN(20))
		message := fmt.Appendf(nil, "%016x%010x", rng.Uint64(), rng.Uint64()>>24)
		p.Lock()
		p.FoldMessage(&events.Message{Kind: events.KindMessagePosted, ChannelID: channel, MessageID: message, SenderID: user, OccurredAt: now}, int64(i), now)
		if i%1000 == 999 {
			at := int64(i / 1000)
			p.FoldRead(&events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: 1, ChannelID: channel, UserID: user, OccurredAt: now}, at, now)
			p.FoldDelivery(&events.Delivery{Kind: events.KindDelivered, ChannelID: channel, UserID: user, MessageID: message, OccurredAt: now}, at, now)
		}
		p.Unlock()
		if i%20_000 != 19_999 && i != n-1 {
			continue
		}
		d.drainNow()
		if err := d.cutNow(); err != nil {
			return 0, err
		}
		size, err := sizeOf(dir)
		if err != nil {
			return 0, err
		}
		largest = max(largest, size)
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	return largest, nil
}

// sizeOf returns the size of the files in a directory. A file may be removed meanwhile.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return ignoreGone(err)
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return ignoreGone(err)
	})
	return size, err
}

func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
