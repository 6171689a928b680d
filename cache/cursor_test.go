package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
)

// cursors is a filling, with methods that check its cursors.
type cursors struct {
	t testing.TB
	filling
}

func open(t testing.TB, rdb *redis.Client, topics string, total int, wantWhy string) *cursors {
	t.Helper()
	f, why, clearing, err := openFilling(t.Context(), rdb, formatOf(rdb), topics, total)
	if err != nil || clearing {
		t.Fatal(clearing, err)
	}
	if why != wantWhy {
		t.Errorf("opened because %q, want %q", why, wantWhy)
	}
	return &cursors{t, f}
}

func (c *cursors) begin(number int32, start, end, want int64) {
	c.t.Helper()
	next, err := c.filling.begin(context.Background(), rand.Text(), []partition{{Topic: "t", Number: number}}, []extent{{Start: start, End: end}})
	if err != nil || next[0] != want {
		c.t.Errorf("begin partition %d in [%d,%d): %v, %v; want %d", number, start, end, next, err, want)
	}
}

func (c *cursors) advance(number int32, before, next int64, want bool) {
	c.t.Helper()
	complete, err := c.filling.advance(context.Background(), []step{{partition{Topic: "t", Number: number}, before, next}}, &written{})
	if err != nil || complete != want {
		c.t.Errorf("advance partition %d from %d to %d: complete %v, %v; want %v", number, before, next, complete, err, want)
	}
}

func (c *cursors) refused(number int32, before, next int64) {
	c.t.Helper()
	if _, err := c.filling.advance(context.Background(), []step{{partition{Topic: "t", Number: number}, before, next}}, &written{}); !errors.Is(err, errReopen) {
		c.t.Errorf("advance partition %d from %d to %d: %v, want errReopen", number, before, next, err)
	}
}

func (c *cursors) epoch(want bool) {
	c.t.Helper()
	n, err := c.rdb.Exists(context.Background(), epochKey).Result()
	if err != nil || (n == 1) != want {
		c.t.Errorf("epoch exists: %d, %v; want %v", n, err, want)
	}
}

// TestMarksOfTheLargestBatch: cursors move past a batch with the largest possible number of
// transactions whose marks exist (config.MaxRecords), and not if the last one is missing.
func TestMarksOfTheLargestBatch(t *testing.T) {
	redises(t, func(t *testing.T, rdb *redis.Client) {
		c := open(t, rdb, "topics", 1, "empty")
		c.begin(0, 0, 10, 0)
		w := &written{key: "marks", batch: 7}
		var marks []any
		for slot := range 400_000/chunkValues + 1 {
			w.slots = append(w.slots, slot)
			marks = append(marks, slot, w.batch)
		}
		if err := rdb.HSet(t.Context(), w.key, marks[:len(marks)-2]...).Err(); err != nil {
			t.Fatal(err)
		}
		to := []step{{partition{Topic: "t", Number: 0}, 0, 10}}
		if _, err := c.filling.advance(t.Context(), to, w); !errors.Is(err, errReopen) {
			t.Errorf("with a mark missing: %v, want errReopen", err)
		}
		if err := rdb.HSet(t.Context(), w.key, marks...).Err(); err != nil {
			t.Fatal(err)
		}
		if complete, err := c.filling.advance(t.Context(), to, w); err != nil || !complete {
			t.Errorf("with all marks: complete %v, %v", complete, err)
		}
	})
}

func TestEpochComesWithTheLastPartition(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		c := open(t, rdb, "topics", 3, "empty")
		c.begin(0, 0, 0, 0) // an empty log is complete at once
		c.begin(1, 5, 20, 5)
		c.epoch(false)
		c.begin(2, 0, 10, 0)
		c.advance(2, 0, 10, false)
		c.advance(1, 5, 19, false)
		c.epoch(false)
		c.advance(1, 19, 25, true)
		c.epoch(true)
		if got := rdb.Get(t.Context(), epochKey).Val(); got != c.id {
			t.Errorf("epoch %q, want the filling's id %q", got, c.id)
		}
		// A member that joins later continues at the cursors in Redis.
		d := open(t, rdb, "topics", 3, "")
		d.begin(1, 5, 40, 25)
		d.advance(1, 25, 25, true)
	})
}

// A partition that changes hands during a filling keeps its target: the end of the log when the
// filling began.
func TestFillingGoesOnWithAnotherMember(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		c := open(t, rdb, "topics", 1, "empty")
		c.begin(0, 0, 100, 0)
		c.advance(0, 0, 40, false)
		d := open(t, rdb, "topics", 1, "")
		d.begin(0, 0, 1000, 40)
		d.advance(0, 40, 100, true)
		c.advance(0, 40, 60, true) // the former owner is late: the cursor does not go back
		d.begin(0, 0, 1000, 100)
	})
}

func TestWipesAreNoticed(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		ctx := t.Context()
		c := open(t, rdb, "topics", 2, "empty")
		c.begin(0, 0, 3, 0)
		c.begin(1, 0, 0, 0)
		rdb.FlushAll(ctx)
		c.refused(0, 0, 3)
		if n := rdb.DBSize(ctx).Val(); n != 0 {
			t.Error("something was written into the emptied Redis")
		}
		c = open(t, rdb, "topics", 2, "empty")
		c.begin(1, 0, 0, 0)
		d := open(t, rdb, "topics", 2, "") // another member joins the same filling
		d.begin(0, 0, 3, 0)
		d.advance(0, 0, 3, true)
		c.advance(1, 0, 1, true)

		rdb.Del(ctx, epochKey) // the epoch alone: requests a rebuild
		c.refused(1, 1, 2)
		d.refused(0, 3, 3)
		e := open(t, rdb, "topics", 2, "epoch")
		if e.id == c.id {
			t.Error("the new filling has the old id")
		}
		c.refused(1, 1, 2)
		e.begin(0, 0, 3, 0)
		e.begin(1, 0, 2, 0)
		e.epoch(false)

		rdb.Del(ctx, cursorsKey)
		e.refused(0, 0, 3)
	})
}

// After a failover the cursor is as old as the data.
func TestLostWritesAreNoticed(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		c := open(t, rdb, "topics", 1, "empty")
		c.begin(0, 0, 10, 0)
		c.advance(0, 0, 10, true)
		c.advance(0, 10, 50, true)
		rdb.HSet(t.Context(), cursorsKey, partition{Topic: "t", Number: 0}.String(), "30")
		c.refused(0, 50, 60)
		c.begin(0, 0, 60, 30)
		c.advance(0, 30, 60, true)
	})
}

func TestCursorOutsideOfTheLog(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		c := open(t, rdb, "topics", 1, "empty")
		c.begin(0, 0, 10, 0)
		c.advance(0, 0, 10, true)
		c.begin(0, 20, 30, 20) // trimmed
		c.begin(0, 0, 5, 0)    // shorter: another log
		c.advance(0, 0, 5, true)
	})
}

func TestOtherTopicsAreFilledAnew(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		c := open(t, rdb, "topics", 1, "empty")
		c.begin(0, 0, 10, 0)
		c.advance(0, 0, 10, true)
		d := open(t, rdb, "recreated topics", 1, "topics")
		d.epoch(false)
		c.refused(0, 10, 11)
		d.begin(0, 0, 4, 0)
		d.advance(0, 0, 4, true)
		open(t, rdb, "recreated topics", 2, "topics").epoch(false) // partitions were added
	})
}
