package cache_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// failer is the common part of *testing.T and *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// everywhere has all sources of answers: nodes, Redis and a reader of the topics. Each node owns
// one partition.
type everywhere struct {
	t      *testing.T
	nodes  *asked
	rdb    *redis.Client
	models []*model.Model
	mirror *checker.Mirror
	writer *cache.Writer
	packed bool // also query the function in Redis
}

// TestPropertyEverywhere: after any events, the query service (on any node), the reader of Redis
// and a reader of the topics give each user the same answers, which are the model's: every field of
// a channel and of a thread, and totals that are the sums of their parts, over all and by label.
// That holds just before, at and after each time at which a level ends.
func TestPropertyEverywhere(t *testing.T) {
	e := &everywhere{t: t, nodes: newAsked(t, 2), rdb: redis.NewClient(&redis.Options{Addr: testkit.Miniredis(t).Addr()})}
	defer e.rdb.Close()
	parts := random.Folded()
	t.Run("crowds", func(t *testing.T) { random.Scripts(t, 50, random.DrawCrowdMore(parts...), e.same) })
	t.Run("small", func(t *testing.T) { random.Scripts(t, 950, random.DrawMore(parts...), e.same) })
}

// TestPropertyPacked: with packed values the reader of Redis gives the same answers, and so does
// the function in Redis.
func TestPropertyPacked(t *testing.T) {
	rdb := cache.PackedRedis(t)
	cache.LoadLibrary(t, rdb)
	e := &everywhere{t: t, nodes: newAsked(t, 2), rdb: rdb, packed: true}
	parts := random.Folded()
	t.Run("crowds", func(t *testing.T) { random.Scripts(t, 30, random.DrawCrowdMore(parts...), e.same) })
	t.Run("small", func(t *testing.T) { random.Scripts(t, 200, random.DrawMore(parts...), e.same) })
}

func (e *everywhere) same(t *rapid.T, c *random.Case) {
	e.begin(t, c.Settings)
	defer e.end(t)
	order := c.Log.Interleave(func(left []events.Input) int { return rapid.IntRange(0, len(left)-1).Draw(t, "order") })
	for i, r := range order {
		n := events.PartitionOf(r.Key(), int32(len(e.models)))
		r.Fold(e.nodes.parts[n])
		r.AddTo(e.models[n])
		if i == len(order)-1 || rapid.IntRange(0, 5).Draw(t, "published") == 0 {
			e.publish(t)
		}
	}
	var users []string
	for _, m := range e.models {
		users = append(users, m.Users()...)
	}
	slices.Sort(users)
	users = slices.Compact(users)
	if len(users) > 8 { // a crowd: of its mostly idle users only a few
		users = append(users[:4:4], users[len(users)-4:]...)
	}
	for _, now := range e.times(t, &c.Log) {
		for _, user := range users {
			if what := e.asked(t, user, now); what != "" {
				t.Fatalf("%s at %s: %s", user, script.FormatTime(now), what)
			}
		}
	}
}

func (e *everywhere) begin(t *rapid.T, s projections.Settings) {
	e.writer, e.mirror, e.models = cache.Begin(e.t, e.rdb), &checker.Mirror{}, nil
	for i := range e.nodes.parts {
		p, err := projections.Open("store", projections.Identity{Partition: int32(i), Partitions: int32(len(e.nodes.parts)), Settings: s},
			projections.Options{FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		e.nodes.parts[i] = p
		e.models = append(e.models, model.New(s))
	}
}

func (e *everywhere) end(t *rapid.T) {
	for _, p := range e.nodes.parts {
		p.Lock()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		p.Unlock()
	}
}

// publish passes the partitions' drained records to Redis and to the reader of the topics.
func (e *everywhere) publish(t *rapid.T) {
	var records []*kgo.Record
	for _, p := range e.nodes.parts {
		var out projections.Deltas
		p.Drain(&out, true)
		for _, r := range out.Records {
			record := &kgo.Record{Key: slices.Clone(r.Key), Value: slices.Clone(r.Value)}
			var err error
			switch r.Topic {
			case projections.OutUnread:
				record.Topic = events.TopicUnread
				err = e.mirror.Apply(record.Value)
			case projections.OutChannels:
				record.Topic = events.TopicChannels
				err = e.mirror.ApplyChannel(record.Value)
			default:
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, record)
		}
	}
	e.writer.Write(e.t, records...)
}

// times are one early time, and those just before, at and just after some of those at which a level
// ends.
func (e *everywhere) times(t *rapid.T, l *script.Log) (out []int64) {
	for _, r := range l[events.Reads] {
		if until := r.Read.Until; until != 0 {
			out = append(out, until)
		}
	}
	if len(out) > 0 {
		until := out[rapid.IntRange(0, len(out)-1).Draw(t, "which until")]
		out = []int64{until - 1, until, until + 1}
	}
	return append(out, script.Start)
}

// asked queries all sources about a user, and returns those that differ from the model.
func (e *everywhere) asked(t *rapid.T, user string, now int64) (what string) {
	found := func(who string, got *checker.Answer, right *checker.Answer) {
		f := &checker.Findings{What: who}
		if got.Compare(right, f); f.Count > 0 && what == "" {
			what = f.String()
		}
	}
	answer, first := e.nodes.inbox(t, 0, user, now)
	right := checker.Right(e.models, user, now, false)
	right.AsAnswered()
	found("the query service", answer, right)
	_, second := e.nodes.inbox(t, 1, user, now)
	if first.AsOf, second.AsOf = nil, nil; !proto.Equal(first, second) {
		return fmt.Sprintf("one node says\n%v\nand the other\n%v", first, second)
	}

	view, err := cache.NewReader(e.rdb).At(time.UnixMilli(now)).View(e.t.Context(), user)
	if errors.Is(err, cache.ErrMiss) {
		view, err = &cache.View{}, nil
	}
	if err != nil {
		return err.Error()
	}
	if e.packed {
		if called, err := cache.Called(e.t, e.rdb, user, now); err != nil {
			return err.Error()
		} else if want := cache.AnswerOf(e.t, view); called != nil && !reflect.DeepEqual(called, want) {
			return fmt.Sprintf("the function says\n%v\nand the reader\n%v", called, want)
		} else if called == nil && len(view.Channels) > 0 {
			return "the function knows nothing of them"
		}
	}
	got := checker.CachedAnswer(view)
	right = checker.Right(e.models, user, now, false)
	right.AsCached(got)
	found("Redis", got, right)

	right = checker.Right(e.models, user, now, true)
	right.AsDerived()
	found("a reader of the topics", e.mirror.Answer(user, now), right)
	return what
}

func askedLevels(level eventsv1.NotifySet_Level, until *timestamppb.Timestamp, after eventsv1.NotifySet_Level) events.Levels {
	l := events.Levels{Level: events.Level(level), After: events.Level(after)}
	if until != nil {
		l.Until = until.AsTime().UnixMilli()
	}
	return l
}
