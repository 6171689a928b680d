package ui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

const (
	letterChunk  = 25 // records of a partition that are read at once
	lettersWait  = 5 * time.Second
	lettersBytes = 32 << 20 // of values that one request reads
)

// letterEnds is where the log of dead letters starts and ends, by partition.
type letterEnds map[int32]tail

// total returns the number of letters.
func (e letterEnds) total() (n int64) {
	for _, t := range e {
		n += t.to - t.from
	}
	return n
}

// version changes whenever a letter is written or expires.
func (e letterEnds) version() string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(e)) {
		fmt.Fprintf(&b, "%d:%d-%d,", p, e[p].from, e[p].to)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

// letterEnds reads the ends of the log from the brokers.
func (u *UI) letterEnds(ctx context.Context) (letterEnds, error) {
	cl, err := kgo.NewClient(u.letterOptions()...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return tails(ctx, kadm.NewClient(cl), u.cfg.Topics.DeadLetters, 1<<62)
}

func (u *UI) letterOptions() []kgo.Opt {
	return append(u.cfg.Kafka.ClientOptions(), kgo.DisableClientMetrics(), kgo.FetchMaxWait(100*time.Millisecond))
}

// letterLog reads the dead letters backwards, newest first. Within a partition this is the reverse
// order of the log.
type letterLog struct {
	u        *UI
	ends     letterEnds
	at       map[int32]int64            // by partition: all letters from here on were returned
	buffered map[int32][]letters.Letter // read and not returned yet, oldest first
	low      map[int32]int64            // by partition: all letters from here on were read
	read     int                        // bytes of values so far
}

// newLetterLog begins at a cursor; "": at the end.
func (u *UI) newLetterLog(ends letterEnds, cursor string) (*letterLog, error) {
	l := &letterLog{u: u, ends: ends, at: map[int32]int64{}, buffered: map[int32][]letters.Letter{}, low: map[int32]int64{}}
	for p, t := range ends {
		l.at[p] = t.to
	}
	for part := range strings.SplitSeq(cursor, ",") {
		if part == "" {
			continue
		}
		p, offset, ok := strings.Cut(part, ":")
		n, err := strconv.ParseInt(p, 10, 32)
		to, err2 := strconv.ParseInt(offset, 10, 64)
		t, known := ends[int32(n)] //nolint:gosec // it has 32 bits
		if !ok || err != nil || err2 != nil || !known {
			return nil, fmt.Errorf("at: %q is not a place in the dead letters", cursor)
		}
		l.at[int32(n)] = min(max(to, t.from), t.to) //nolint:gosec // as above
	}
	maps.Copy(l.low, l.at)
	return l, nil
}

// cursor returns the place of the next letter; "": there is none.
func (l *letterLog) cursor() string {
	var parts []string
	left := false
	for _, p := range slices.Sorted(maps.Keys(l.at)) {
		left = left || l.at[p] > l.ends[p].from
		parts = append(parts, fmt.Sprintf("%d:%d", p, l.at[p]))
	}
	if !left {
		return ""
	}
	return strings.Join(parts, ",")
}

// next returns the newest letter that was not returned yet; nil: none is left.
func (l *letterLog) next(ctx context.Context) (*letters.Letter, error) {
	if err := l.fill(ctx); err != nil {
		return nil, err
	}
	var newest *letters.Letter
	for p := range l.buffered {
		if n := len(l.buffered[p]); n > 0 {
			if x := &l.buffered[p][n-1]; newest == nil || x.Written.After(newest.Written) || x.Written.Equal(newest.Written) && x.Partition < newest.Partition {
				newest = x
			}
		}
	}
	if newest == nil {
		for p, t := range l.ends {
			l.at[p] = t.from
		}
		return nil, nil
	}
	p := newest.Partition
	l.buffered[p] = l.buffered[p][:len(l.buffered[p])-1]
	l.at[p] = newest.Offset
	return newest, nil
}

// newest yields the next letters of a reason; "": of all. It stops after a bounded number of
// letters and bytes, even if there are more. It yields an error last.
func (l *letterLog) newest(ctx context.Context, reason string) iter.Seq2[*letters.Letter, error] {
	return func(yield func(*letters.Letter, error) bool) {
		for n := 0; n < scanned && l.read < lettersBytes; n++ {
			x, err := l.next(ctx)
			switch {
			case err != nil:
				yield(nil, err)
				return
			case x == nil:
				return
			case reason != "" && x.Reason != reason:
			case !yield(x, nil):
				return
			}
		}
	}
}

// fill reads until it holds a letter of each partition that has one left.
func (l *letterLog) fill(ctx context.Context) error {
	for {
		want := map[int32]tail{}
		for p, t := range l.ends {
			if len(l.buffered[p]) == 0 && l.low[p] > t.from {
				want[p] = tail{max(t.from, l.low[p]-letterChunk), l.low[p]}
			}
		}
		if len(want) == 0 {
			return nil
		}
		err := l.u.readLetters(ctx, want, func(x letters.Letter) {
			l.buffered[x.Partition] = append(l.buffered[x.Partition], x)
			l.read += x.Bytes
		})
		if err != nil {
			return err
		}
		for p, t := range want {
			l.low[p] = t.from
		}
	}
}

// readLetters reads pieces of partitions.
func (u *UI) readLetters(ctx context.Context, pieces map[int32]tail, fn func(letters.Letter)) error {
	topic, left, offsets := u.cfg.Topics.DeadLetters, kafkaadmin.Left{}, map[int32]kgo.Offset{}
	for p, t := range pieces {
		left[p], offsets[p] = t.to, kgo.NewOffset().At(t.from)
	}
	cl, err := kgo.NewClient(append(u.letterOptions(), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("the dead letters could not be read within %s", lettersWait)
		}
		for _, e := range fetches.Errors() {
			if e.Topic != "" {
				return fmt.Errorf("%s/%d: %w", e.Topic, e.Partition, e.Err)
			}
		}
		err := left.Take(fetches, func(r *kgo.Record) error {
			fn(letters.Of(r))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
