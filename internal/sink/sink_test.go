package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// cluster has the topics a and b of two partitions each, and three records in a/1.
func cluster(t *testing.T) []string {
	t.Helper()
	brokers := testkit.FakeKafka(t, kfake.SeedTopics(2, "a", "b")).ListenAddrs()
	cl := testkit.Client(t, brokers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i := range 3 {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "a", Partition: 1, Value: fmt.Append(nil, i)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	return brokers
}

// logs asks the brokers about a and b.
func logs(t *testing.T, brokers []string) *Logs {
	return &Logs{
		Admin: kadm.NewClient(testkit.Client(t, brokers)), Topics: []string{"a", "b"},
		RetryMin: time.Millisecond, RetryMax: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	}
}

func TestAssignedIsInOrder(t *testing.T) {
	list := Assigned(map[string]map[int32]kgo.Offset{"b": {0: {}}, "a": {10: {}, 2: {}}})
	if got := fmt.Sprint(list); got != "[a/2 a/10 b/0]" {
		t.Error(got)
	}
}

func TestExtents(t *testing.T) {
	l := logs(t, cluster(t))
	got, err := l.Extents(t.Context(), []Partition{{"a", 1}, {"b", 0}})
	if err != nil || !slices.Equal(got, []Extent{{0, 3}, {0, 0}}) {
		t.Errorf("%v, %v", got, err)
	}
}

// A partition that the brokers do not have is asked for until the context ends, and named.
func TestExtentsOfAnUnknownPartition(t *testing.T) {
	l := logs(t, cluster(t))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := l.Extents(ctx, []Partition{{"a", 7}}); err == nil {
		t.Error("a partition that is not there has an extent")
	} else if ctx.Err() == nil {
		t.Errorf("it gave up by itself: %v", err)
	}
	if _, err := l.extents(t.Context(), []Partition{{"a", 7}}); err == nil || !strings.Contains(err.Error(), "a/7") {
		t.Errorf("it is not named: %v", err)
	}
}

func TestWatchEnds(t *testing.T) {
	l := logs(t, cluster(t))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	end := int64(-1)
	l.WatchEnds(ctx, time.Millisecond, func(ends kadm.ListedOffsets) {
		o, _ := ends.Lookup("a", 1)
		end = o.Offset
		cancel()
	})
	if end != 3 {
		t.Errorf("the end of a/1 is %d, want 3", end)
	}
}

// member begins to consume as a member of a group, with the given functions.
func member(t *testing.T, brokers []string, g Group) (*Group, *kgo.Client) {
	t.Helper()
	g.Brokers, g.Name, g.ClientID, g.Topics = brokers, "group", "test", []string{"a", "b"}
	g.SessionTimeout, g.FetchBytes, g.PartitionBytes = 30*time.Second, 1<<20, 1<<20
	g.Options, g.Logger = testkit.FastClientOpts(), slog.New(slog.DiscardHandler)
	cl, err := g.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return &g, cl
}

// Assign says where a member begins, and Commit what the group knows of it.
func TestAMemberBeginsWhereItIsTold(t *testing.T) {
	brokers := cluster(t)
	g, cl := member(t, brokers, Group{
		Assign: func(_ context.Context, o map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
			for _, p := range Assigned(o) {
				o[p.Topic][p.Number] = kgo.NewOffset().At(0)
			}
			if numbers := o["a"]; numbers != nil {
				numbers[1] = kgo.NewOffset().At(2)
			}
			return o, nil
		},
		LetGo:  func(map[string][]int32) {},
		Breaks: func(err error) { t.Error(err) },
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var got []*kgo.Record
	for len(got) == 0 {
		fetches := cl.PollFetches(ctx)
		if err := g.Failure(ctx, cl, fetches); err != nil || ctx.Err() != nil {
			t.Fatal(err, ctx.Err())
		}
		got = fetches.Records()
	}
	if got[0].Offset != 2 {
		t.Errorf("it began at %d", got[0].Offset)
	}
	behind := func() (o Offsets) { o.Add(Partition{"a", 1}, 3); return o }
	c := Committer{Every: time.Hour, Behind: behind}
	c.Last(cl, func(err *guard.Error) { t.Error(err) })
	committed, err := kadm.NewClient(cl).FetchOffsets(ctx, "group")
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := committed.Lookup("a", 1); !ok || o.At != 3 {
		t.Errorf("the group's offset of a/1 is %v", o)
	}
}

// A panic while partitions are assigned is an error of the assignment, and one while they are given
// away goes to Breaks.
func TestPanicsOfAMember(t *testing.T) {
	brokers := cluster(t)
	broken := make(chan error, 8)
	assigned := make(chan struct{}, 8)
	_, cl := member(t, brokers, Group{
		Assign: func(_ context.Context, o map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
			assigned <- struct{}{}
			for _, p := range Assigned(o) {
				o[p.Topic][p.Number] = kgo.NewOffset().At(0)
			}
			return o, nil
		},
		LetGo:  func(map[string][]int32) { panic("planted") },
		Breaks: func(err error) { broken <- err },
	})
	<-assigned
	go cl.PollFetches(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := cl.LeaveGroupContext(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-broken:
		if guard.Of(err) == nil {
			t.Errorf("%v is no panic", err)
		}
	case <-ctx.Done():
		t.Error("nobody was told of the panic")
	}
}

// Commit waits for Every between two commits.
func TestCommitEvery(t *testing.T) {
	asked := 0
	c := Committer{Every: time.Hour, Behind: func() Offsets { asked++; return nil }}
	c.Commit(t.Context(), nil)
	c.Commit(t.Context(), nil)
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// Failure names the first error that does not pass by itself.
func TestFailure(t *testing.T) {
	g := Group{Logger: slog.New(slog.DiscardHandler)}
	ended, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	<-ended.Done()
	of := func(err error) kgo.Fetches { return kgo.NewErrFetch(err) }
	cl := testkit.Client(t, cluster(t))
	if err := g.Failure(ended, cl, of(context.DeadlineExceeded)); err != nil {
		t.Errorf("a poll that ended in time fails: %v", err)
	}
	if err := g.Failure(t.Context(), cl, of(&kgo.ErrGroupSession{Err: errors.New("lost")})); err != nil {
		t.Errorf("a group that is joined again fails: %v", err)
	}
	if err := g.Failure(t.Context(), cl, of(errors.New("disk"))); err == nil || !strings.Contains(err.Error(), "disk") {
		t.Errorf("%v", err)
	}
}

func TestCompletenessSaysEachChangeOnce(t *testing.T) {
	var log strings.Builder
	c := Completeness{Gauge: prometheus.NewGauge(prometheus.GaugeOpts{Name: "complete"}), Log: slog.New(slog.NewTextHandler(&log, nil)), Text: "all is there"}
	c.Set(false)
	c.Set(true)
	c.Set(true)
	if !c.Is() || strings.Count(log.String(), "all is there") != 1 {
		t.Errorf("%v, %s", c.Is(), log.String())
	}
}

func TestRecordErrorNamesThePlace(t *testing.T) {
	err := error(&RecordError{Topic: "a", Partition: 1, Offset: 2, What: "not cached", Err: ErrOtherKey})
	if !errors.Is(err, ErrOtherKey) || !strings.HasPrefix(err.Error(), "a/1/2: not cached: ") {
		t.Error(err)
	}
}

// part is what a sink keeps of a partition: here its progress alone.
type part struct{ Progress }

// Offsets are committed once, ends never go back, and a released partition has no lag.
func TestOwned(t *testing.T) {
	lag := NewLag("test", "help")
	a, b := Partition{"a", 1}, Partition{"b", 0}
	owned := Owned[*part]{a: {Progress{Stored: 5, Next: 7, Commit: -1, End: 9}}, b: {Progress{Stored: 3, Commit: 3, End: 3}}}
	if got := fmt.Sprint(owned.Uncommitted(), owned.Uncommitted()); got != "map[a:map[1:{-1 5}]] map[]" {
		t.Errorf("uncommitted: %s", got)
	}
	ends := kadm.ListedOffsets{"a": {1: {Topic: "a", Partition: 1, Offset: 20}}, "b": {0: {Topic: "b", Offset: 30, Err: errors.New("no leader")}}}
	owned.SetEnds(ends, lag)
	ends["a"][1] = kadm.ListedOffset{Topic: "a", Partition: 1, Offset: 10}
	owned.SetEnds(ends, lag)
	if owned[a].End != 20 || owned[b].End != 3 || testutil.ToFloat64(lag.WithLabelValues("a", "1")) != 15 {
		t.Errorf("the ends are %d and %d", owned[a].End, owned[b].End)
	}
	owned.Release(map[string][]int32{"a": {1, 2}}, lag)
	if _, left := owned[a]; left || len(owned) != 1 || testutil.CollectAndCount(lag) != 0 {
		t.Errorf("left after the release: %v", owned)
	}
}

// The context of an assignment ends with the session, even while the group waits.
func TestAssignEndsWithTheSession(t *testing.T) {
	brokers := cluster(t)
	assigning, ended := make(chan struct{}, 8), make(chan struct{})
	var once sync.Once
	session, end := context.WithCancel(t.Context())
	g := Group{
		Brokers: brokers, Name: "group", ClientID: "test", Topics: []string{"a"},
		SessionTimeout: 30 * time.Second, FetchBytes: 1 << 20, PartitionBytes: 1 << 20,
		Options: testkit.FastClientOpts(), Logger: slog.New(slog.DiscardHandler),
		Assign: func(ctx context.Context, _ map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
			assigning <- struct{}{}
			<-ctx.Done()
			once.Do(func() { close(ended) })
			return nil, ctx.Err()
		},
		LetGo: func(map[string][]int32) {}, Breaks: func(error) {},
	}
	cl, err := g.Client(session)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	go cl.PollFetches(session)
	<-assigning
	end()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the assignment outlives the session")
	}
}
