package processor

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// newTestCommitter commits into sent; fail is what commits answer.
func newTestCommitter() (c *committer, sent *[]map[int32]int64, fail *error) {
	sent, fail = new([]map[int32]int64), new(error)
	c = &committer{
		topics: events.InputTopics, log: slog.New(slog.DiscardHandler), metrics: newMetrics(Topics{Inputs: events.InputTopics}), now: time.Now,
		wake: make(chan struct{}, 1), pending: map[int32]projections.Position{}, floor: map[int32]projections.Position{},
	}
	c.commit = func(_ context.Context, m map[string]map[int32]kgo.EpochOffset) error {
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
	c.own(0, at1(0))
	c.own(1, at1(0))
	c.note(0, at1(1))
	c.note(0, at1(2))
	c.note(1, at1(7))
	if err := c.send(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := c.send(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if len(*sent) != 1 || (*sent)[0][0] != 2 || (*sent)[0][1] != 7 {
		t.Errorf("sent %v, want one request with the newest of each", *sent)
	}
}

func TestCommitNeverGoesBack(t *testing.T) {
	c, sent, _ := newTestCommitter()
	c.own(0, projections.Position{5, 3, 0})
	c.note(0, projections.Position{7, 2, 0})
	c.note(0, projections.Position{5, 3, 0})
	_ = c.send(context.Background(), nil)
	if len(*sent) != 0 {
		t.Errorf("sent %v below or at what the group has", *sent)
	}
}

func TestCommitOfOthersPartitionsIsDropped(t *testing.T) {
	c, sent, _ := newTestCommitter()
	c.note(0, at1(1))
	c.own(1, at1(0))
	c.note(1, at1(1))
	c.forget([]int32{1})
	_ = c.send(context.Background(), nil)
	if len(*sent) != 0 {
		t.Errorf("sent %v of partitions that are not owned", *sent)
	}
}

func TestFailedCommitIsSentAgain(t *testing.T) {
	c, sent, fail := newTestCommitter()
	c.own(0, at1(0))
	c.own(1, at1(0))
	c.note(0, at1(1))
	c.note(1, at1(1))
	*fail = errors.New("no coordinator")
	if err := c.send(context.Background(), nil); err == nil {
		t.Fatal("the error is lost")
	}
	c.note(1, at1(4))
	*fail = nil
	_ = c.send(context.Background(), nil)
	if last := (*sent)[len(*sent)-1]; last[0] != 1 || last[1] != 4 {
		t.Errorf("sent %v, want partition 0 again and the newer of partition 1", last)
	}
}

func TestFlushSendsThoseAndForgetsThem(t *testing.T) {
	c, sent, _ := newTestCommitter()
	for p := range int32(2) {
		c.own(p, at1(0))
		c.note(p, at1(int64(p)+1))
	}
	if err := c.flush(context.Background(), []int32{0}); err != nil {
		t.Fatal(err)
	}
	c.note(0, at1(9))
	_ = c.send(context.Background(), nil)
	if len(*sent) != 2 || len((*sent)[0]) != 1 || (*sent)[0][0] != 1 || len((*sent)[1]) != 1 || (*sent)[1][1] != 2 {
		t.Errorf("sent %v", *sent)
	}
}
