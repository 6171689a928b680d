package outputs

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections"
)

// newTestCommitter returns a committer whose commits append to sent and return fail.
func newTestCommitter() (c *Committer, sent *[]map[int32]int64, fail *error) {
	sent, fail = new([]map[int32]int64), new(error)
	c = NewCommitter(Commits{
		Topics: events.InputTopics, Log: slog.New(slog.DiscardHandler), Took: func(time.Duration) {}, Now: time.Now, Roster: NewRoster(),
	})
	c.Commit = func(_ context.Context, m map[string]map[int32]kgo.EpochOffset, _ map[int32]string) error {
		one := map[int32]int64{}
		for p, o := range m[events.TopicMessages] {
			one[p] = o.Offset
		}
		*sent = append(*sent, one)
		return *fail
	}
	return c, sent, fail
}

func at1(m int64) projections.Position { return projections.Position{m, 0, 0} }

func TestCommitJoinsPartitionsAndSendsTheNewest(t *testing.T) {
	c, sent, _ := newTestCommitter()
	c.Own(0, at1(0))
	c.Own(1, at1(0))
	c.Note(0, at1(1))
	c.Note(0, at1(2))
	c.Note(1, at1(7))
	if err := c.Send(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if len(*sent) != 1 || (*sent)[0][0] != 2 || (*sent)[0][1] != 7 {
		t.Errorf("sent %v, want one request with the newest of each", *sent)
	}
}

func TestCommitNeverGoesBack(t *testing.T) {
	c, sent, _ := newTestCommitter()
	c.Own(0, projections.Position{5, 3, 0})
	c.Note(0, projections.Position{7, 2, 0})
	c.Note(0, projections.Position{5, 3, 0})
	_ = c.Send(context.Background(), nil)
	if len(*sent) != 0 {
		t.Errorf("sent %v below or at what the group has", *sent)
	}
}

func TestCommitOfOthersPartitionsIsDropped(t *testing.T) {
	c, sent, _ := newTestCommitter()
	c.Note(0, at1(1))
	c.Own(1, at1(0))
	c.Note(1, at1(1))
	c.Forget([]int32{1})
	_ = c.Send(context.Background(), nil)
	if len(*sent) != 0 {
		t.Errorf("sent %v of partitions that are not owned", *sent)
	}
}

func TestFailedCommitIsSentAgain(t *testing.T) {
	c, sent, fail := newTestCommitter()
	c.Own(0, at1(0))
	c.Own(1, at1(0))
	c.Note(0, at1(1))
	c.Note(1, at1(1))
	*fail = errors.New("no coordinator")
	if err := c.Send(context.Background(), nil); err == nil {
		t.Fatal("the error is lost")
	}
	c.Note(1, at1(4))
	*fail = nil
	_ = c.Send(context.Background(), nil)
	if last := (*sent)[len(*sent)-1]; last[0] != 1 || last[1] != 4 {
		t.Errorf("sent %v, want partition 0 again and the newer of partition 1", last)
	}
}

// TestAPanicBeforeACommit: a panic leaves the offsets to the next commit. That one does not wait
// for the commit that was never sent.
func TestAPanicBeforeACommit(t *testing.T) {
	c, sent, _ := newTestCommitter()
	c.Own(0, at1(0))
	c.Note(0, at1(3))
	panics := 2
	c.Now = func() time.Time {
		if panics > 0 {
			panics--
			panic("planted")
		}
		return time.Now()
	}
	for range panics {
		if err := guard.Do("committing", func() { _ = c.Send(t.Context(), nil) }); err == nil {
			t.Fatal("nothing panicked")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Send(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if len(*sent) != 1 || (*sent)[0][0] != 3 || len(c.pending) != 0 || c.floor[0] != at1(3) {
		t.Errorf("sent %v, pending %v", *sent, c.pending)
	}
	select {
	case c.sending <- struct{}{}:
	default:
		t.Error("the token is not given back")
	}
}

func TestFlushSendsThoseAndForgetsThem(t *testing.T) {
	c, sent, _ := newTestCommitter()
	for p := range int32(2) {
		c.Own(p, at1(0))
		c.Note(p, at1(int64(p)+1))
	}
	if err := c.Flush(context.Background(), []int32{0}); err != nil {
		t.Fatal(err)
	}
	c.Note(0, at1(9))
	_ = c.Send(context.Background(), nil)
	if len(*sent) != 2 || len((*sent)[0]) != 1 || (*sent)[0][0] != 1 || len((*sent)[1]) != 1 || (*sent)[1][1] != 2 {
		t.Errorf("sent %v", *sent)
	}
}

// TestLastCommitBehindAnother: a partition that the member releases right after the answer to a
// commit keeps the offsets of that commit.
func TestLastCommitBehindAnother(t *testing.T) {
	c, sent, _ := newTestCommitter()
	c.Own(0, at1(0))
	c.Note(0, at1(3))
	first := true
	c.Took = func(time.Duration) { // runs once the client is done with a commit
		if first {
			first = false
			if err := c.Flush(t.Context(), []int32{0}); err != nil {
				t.Error(err)
			}
		}
	}
	if err := c.Send(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if len(*sent) != 2 || (*sent)[0][0] != 3 || (*sent)[1][0] != 3 {
		t.Errorf("sent %v, want twice 3: the commit and the text that the partition was left in order", *sent)
	}
}

// TestOffsetsGoForward: however commits, notes and releases overlap, no committed offset of a
// partition ever goes back.
func TestOffsetsGoForward(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const partitions = 4
	var mu sync.Mutex
	var has [partitions]int64 // the group's offsets
	c, _, _ := newTestCommitter()
	c.Commit = func(_ context.Context, m map[string]map[int32]kgo.EpochOffset, _ map[int32]string) error {
		runtime.Gosched()
		mu.Lock()
		defer mu.Unlock()
		for p, o := range m[events.TopicMessages] {
			if o.Offset < has[p] {
				t.Errorf("partition %d: %d is committed after %d", p, o.Offset, has[p])
			}
			has[p] = o.Offset
		}
		return nil
	}
	c.Took = func(time.Duration) { runtime.Gosched() }
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { c.Run(ctx) })
	var owners sync.WaitGroup
	for p := range int32(partitions) {
		owners.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(p)))
			for range 300 {
				mu.Lock()
				at := has[p]
				mu.Unlock()
				c.Own(p, at1(at))
				for range r.IntN(5) {
					at += 1 + r.Int64N(3)
					c.Note(p, at1(at))
					runtime.Gosched()
				}
				if err := c.Flush(t.Context(), []int32{p}); err != nil {
					t.Error(err)
				}
				mu.Lock()
				if has[p] != at {
					t.Errorf("partition %d was given away at %d, and %d is committed", p, at, has[p])
				}
				mu.Unlock()
			}
		})
	}
	owners.Wait()
	cancel()
	all.Wait()
}
