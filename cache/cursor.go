package cache

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/format"
	"github.com/tidemark/tidemark/internal/sink"
)

var (
	//go:embed lua/open.lua
	openLua string
	//go:embed lua/advance.lua
	advanceLua string
	//go:embed lua/clear.lua
	clearLua string

	openScript    = redis.NewScript(openLua)
	advanceScript = redis.NewScript(advanceLua)
	clearScript   = redis.NewScript(clearLua)
)

// filling is one filling of Redis, from empty to complete, until Redis loses it. Each partition's
// cursor, its next offset to read, is stored in Redis beside the values and is as durable as they
// are: a restart, a failover or a wipe affects both. So reading resumes at the cursor. The group's
// offsets serve only lag monitors.
type filling struct {
	rdb redis.UniversalClient
	id  string
}

// openFilling joins the filling that Redis has, or begins one. why is empty if it joined; otherwise
// it is the reason for a new filling: "empty" (Redis was wiped or is new), "topics" (it was filled
// from other topics), "epoch" (tidemark:epoch is gone) or "format" (a version with other key names
// filled it, or one with other values or families of keys). If clearing is true, call clear next.
func openFilling(ctx context.Context, rdb redis.UniversalClient, of format.Format, topics string, total int) (f filling, why string, clearing bool, err error) {
	// The name of the topics also begins with the format, so that versions without formats do not
	// join this filling.
	name := of.String()
	answer, err := openScript.Run(ctx, rdb, []string{epochKey, cursorsKey, ownersKey}, name+rand.Text(), name+topics, total, name).Slice()
	if err != nil {
		return filling{}, "", false, fmt.Errorf("open the cursors in Redis: %w", err)
	}
	if len(answer) != 3 {
		return filling{}, "", false, fmt.Errorf("open the cursors in Redis: answer of %d parts, want 3", len(answer))
	}
	return filling{rdb: rdb, id: fmt.Sprint(answer[0])}, fmt.Sprint(answer[1]), fmt.Sprint(answer[2]) == "1", nil
}

// All sinks share the names of partitions and the extents of logs. A partition's name is its field
// in the hash of cursors.
type (
	partition = sink.Partition
	extent    = sink.Extent
)

// begin makes token the owner of partitions in place of any other owner, and returns the offset at
// which each continues. Use a new token for each begin: a member that gets a partition back must
// not mistake it for one that it kept. errReopen means that the filling has ended.
func (f filling) begin(ctx context.Context, token string, parts []partition, logs []extent) ([]int64, error) {
	args := make([]any, 0, 4+4*len(parts))
	args = (&written{}).args(append(args, f.id, token))
	for i, p := range parts {
		args = append(args, p.String(), "b", logs[i].Start, logs[i].End)
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
			return nil, fmt.Errorf("begin %s in Redis: cursor %v: %w", parts[i].String(), a, err)
		}
	}
	return next, nil
}

// step moves a partition's cursor from before to next: Redis has every record below next.
type step struct {
	partition
	before, next int64
}

// advance moves cursors past the records that w covers and reports whether Redis is complete. It
// returns errReopen, and moves nothing, if Redis has lost a cursor or a mark of w.
func (f filling) advance(ctx context.Context, steps []step, w *written) (complete bool, err error) {
	args := make([]any, 0, 4+len(w.slots)+4*len(steps))
	args = w.args(append(args, f.id, ""))
	for _, s := range steps {
		args = append(args, s.String(), "a", s.before, s.next)
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
		return nil, false, fmt.Errorf("%w: a cursor went back, or the last writes are gone", errReopen)
	default:
		return nil, false, fmt.Errorf("move the cursors in Redis: unknown answer %q", wrong)
	}
}

// Cursors returns the next offset of each partition that fills Redis, by "<topic>/<partition>".
// Redis has every record before it.
func (r *Reader) Cursors(ctx context.Context) (map[string]int64, error) {
	hash, err := r.rdb.HGetAll(ctx, cursorsKey).Result()
	if err != nil {
		return nil, fmt.Errorf("redis key %q: %w", cursorsKey, err)
	}
	out := map[string]int64{}
	for field, value := range hash {
		if !strings.Contains(field, "/") {
			continue
		}
		next, _, _ := strings.Cut(value, "/") // a target follows while Redis is being filled
		if out[field], err = strconv.ParseInt(next, 10, 64); err != nil {
			return nil, fmt.Errorf("redis key %q, field %q: %w", cursorsKey, field, err)
		}
	}
	return out, nil
}

// tellListing sets for readers how long threads are listed.
func tellListing(ctx context.Context, rdb redis.UniversalClient, always bool) error {
	listing := listedMonth
	if always {
		listing = listedAlways
	}
	if err := rdb.Set(ctx, listingKey, listing, 0).Err(); err != nil {
		return fmt.Errorf("redis key %q: %w", listingKey, err)
	}
	return nil
}
