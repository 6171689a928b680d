package cache

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// filling is one filling of Redis, from empty to complete and for as long as it lasts. The next offset to read of each
// partition stands in Redis beside what was written, and is as durable as that: what a restart, a failover or a wipe
// takes away it takes from both. So it is where reading goes on; the group's offsets are for those who watch lag.
type filling struct {
	rdb redis.UniversalClient
	id  string
}

// openFilling joins the filling that Redis is in, or begins one. why says why a new one was begun: "empty" (Redis was
// wiped or is new), "topics" (it was filled from other topics), "epoch" (tidemark:epoch is gone); else it is empty.
func openFilling(ctx context.Context, rdb redis.UniversalClient, topics string, total int) (f filling, why string, err error) {
	answer, err := openScript.Run(ctx, rdb, []string{epochKey, cursorsKey, ownersKey}, random(), topics, total).StringSlice()
	if err != nil {
		return filling{}, "", fmt.Errorf("open the cursors in Redis: %w", err)
	}
	if len(answer) != 2 {
		return filling{}, "", fmt.Errorf("open the cursors in Redis: answer of %d parts, want 2", len(answer))
	}
	return filling{rdb: rdb, id: answer[0]}, answer[1], nil
}

func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// partition names one of the topics' partitions.
type partition struct {
	topic  string
	number int32
}

// field is its name in the hash of cursors.
func (p partition) field() string { return p.topic + "/" + strconv.Itoa(int(p.number)) }

// extent is where the log of a partition begins and ends: offsets of the first record and of the next one.
type extent struct{ start, end int64 }

// begin makes who has token the owner of partitions, whoever was, and returns the offset at which to go on with each.
// A token is for one begin: who gets a partition back must not take it for one that he kept. errReopen: the filling has
// ended.
func (f filling) begin(ctx context.Context, token string, parts []partition, logs []extent) ([]int64, error) {
	args := make([]any, 0, 4+4*len(parts))
	args = (&written{}).args(append(args, f.id, token))
	for i, p := range parts {
		args = append(args, p.field(), "b", logs[i].start, logs[i].end)
	}
	answer, _, err := f.call(ctx, "", args)
	if err != nil {
		return nil, err
	}
	if len(answer) != len(parts) {
		return nil, fmt.Errorf("begin %d partitions in Redis: answer about %d", len(parts), len(answer))
	}
	next := make([]int64, len(parts))
	for i, a := range answer {
		if next[i], err = strconv.ParseInt(fmt.Sprint(a), 10, 64); err != nil {
			return nil, fmt.Errorf("begin %s in Redis: cursor %v: %w", parts[i].field(), a, err)
		}
	}
	return next, nil
}

// step moves a partition's cursor on: Redis held before, and now everything below next.
type step struct {
	partition
	before, next int64
}

// advance moves cursors on, over what w says was written, and reports whether Redis is complete. It also finds out whether
// Redis still holds what it held, and what was written: errReopen if not, and then nothing was moved.
func (f filling) advance(ctx context.Context, steps []step, w *written) (complete bool, err error) {
	args := make([]any, 0, 4+len(w.slots)+4*len(steps))
	args = w.args(append(args, f.id, ""))
	for _, s := range steps {
		args = append(args, s.field(), "a", s.before, s.next)
	}
	_, complete, err = f.call(ctx, w.key, args)
	return complete, err
}

func (f filling) call(ctx context.Context, marks string, args []any) (rest []any, complete bool, err error) {
	keys := []string{epochKey, cursorsKey, ownersKey}
	if marks != "" {
		keys = append(keys, marks)
	}
	answer, err := advanceScript.Run(ctx, f.rdb, keys, args...).Slice()
	if err != nil {
		return nil, false, fmt.Errorf("move the cursors in Redis: %w", err)
	}
	if len(answer) < 2 {
		return nil, false, fmt.Errorf("move the cursors in Redis: answer of %d parts, want 2 or more", len(answer))
	}
	switch wrong := fmt.Sprint(answer[0]); wrong {
	case "":
		return answer[2:], fmt.Sprint(answer[1]) == "1", nil
	case "wiped":
		return nil, false, fmt.Errorf("%w: it was emptied or is being filled anew", errReopen)
	case "lost":
		return nil, false, fmt.Errorf("%w: a cursor is older than it was, or what was written last is gone", errReopen)
	default:
		return nil, false, fmt.Errorf("move the cursors in Redis: unknown answer %q", wrong)
	}
}
