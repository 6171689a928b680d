package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// The tests below plant one error at a time in the results of a run, and the checks must find it.
// In a run without errors they must find nothing.

// staged is a log without brokers, and the records that the fold publishes for it, record by
// record.
type staged struct {
	*checker.Log
	inputs, published []*kgo.Record
}

// stage folds n events of the workload.
func stage(t *testing.T, s projections.Settings, n int) *staged {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	st := &staged{}
	next := map[string]int64{}
	place := func(r *kgo.Record) *kgo.Record {
		at := fmt.Sprint(r.Topic, r.Partition)
		r.Offset = next[at]
		next[at]++
		return r
	}
	newWorkload(seed, func(r *kgo.Record) { st.inputs = append(st.inputs, place(r)) }).Write(n)
	st.Log = checker.NewLog(s, partitions, st.inputs)
	folds := make([]*projections.Partition, partitions)
	for p := range folds {
		var err error
		folds[p], err = projections.Open("store", projections.Identity{Partition: int32(p), Partitions: partitions, Settings: s},
			projections.Options{FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		defer folds[p].Close()
	}
	for _, r := range st.inputs {
		p := folds[r.Partition]
		checker.Fold(p, r, partitions)
		var out projections.Deltas
		p.Drain(&out, true)
		for _, o := range out.Records {
			if o.Topic == projections.OutUnread {
				st.published = append(st.published, place(&kgo.Record{Topic: events.TopicUnread, Partition: o.Partition,
					Key: slices.Clone(o.Key), Value: slices.Clone(o.Value), ProducerID: 1}))
			}
		}
	}
	return st
}

// member returns a key of a member of a small channel whose newest value differs from the previous
// one, and the indexes of its values.
func (st *staged) member(t *testing.T) (key string, values []int) {
	t.Helper()
	var f checker.Findings
	h, of := checker.NewHistory(st.published, &f), map[string][]int{}
	for i, r := range st.published {
		of[string(r.Key)] = append(of[string(r.Key)], i)
	}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		user, channel, thread, _ := events.SplitUnreadKey([]byte(key))
		now, ok := st.View(string(user), string(channel))
		if !ok || len(thread) > 0 || !now.Member || now.Large || len(of[key]) < 4 || st.Model(string(channel)).OpenInTime(string(user), string(channel), "") {
			continue
		}
		if h.Moved(key, now) {
			return key, of[key]
		}
	}
	t.Fatal("no member of a small channel")
	return "", nil
}

func TestWrongValuesAreFound(t *testing.T) {
	st := stage(t, settings(), 1500)
	key, at := st.member(t)
	newestAt := at[len(at)-1]
	appended := func(r *kgo.Record, producer int64) []*kgo.Record {
		other := *r
		other.ProducerID, other.Offset = producer, 1<<40
		return append(slices.Clone(st.published), &other)
	}
	replaced := func(i int, r *kgo.Record) []*kgo.Record {
		all := slices.Clone(st.published)
		all[i] = r
		return all
	}
	more := func(d *events.UnreadDelta) { d.ReadEpoch++ } // works in large channels too
	for _, c := range []struct {
		name    string
		records []*kgo.Record
		want    string // part of the finding; "" for none
	}{
		{name: "nothing", records: st.published},
		{name: "published again by another process", records: appended(st.published[newestAt], 2)},
		{name: "an older one after it", records: appended(st.published[at[0]], 2), want: "the newest value"},
		{name: "an older one by the same process", records: appended(st.published[at[0]], 1), want: "producer 1/0 wrote the stamp"},
		{name: "equal stamps, other bytes", records: appended(checker.Lied(t, st.published[newestAt], more), 2), want: "two values have the stamp"},
		{name: "a wrong newest value", records: replaced(newestAt, checker.Lied(t, st.published[newestAt], more)), want: "the newest value"},
		{name: "a wrong value in between", records: replaced(at[1], checker.Lied(t, st.published[at[1]], more)), want: "but then it was"},
		{name: "the newest is missing", records: slices.Delete(slices.Clone(st.published), newestAt, newestAt+1), want: "the newest value"},
		{name: "a key is missing", want: "nothing was published",
			records: slices.DeleteFunc(slices.Clone(st.published), func(r *kgo.Record) bool { return string(r.Key) == key })},
		{name: "ahead of the log", want: "ahead of the log",
			records: replaced(newestAt, checker.Lied(t, st.published[newestAt], func(d *events.UnreadDelta) { d.Stamp.M += 1 << 30 }))},
		{name: "a stamp of no record", want: "the records up to there give",
			records: replaced(at[1], checker.Lied(t, st.published[at[1]], func(d *events.UnreadDelta) { d.Stamp.D += 1 << 20 }))},
		{name: "another key", want: "the value says",
			records: replaced(newestAt, checker.Lied(t, st.published[newestAt], func(d *events.UnreadDelta) { d.UserID = []byte("x") }))},
		{name: "no delta", records: replaced(newestAt, &kgo.Record{Value: []byte("\xff")}), want: "tidemark.unread"},
	} {
		f := &checker.Findings{}
		h := checker.NewHistory(c.records, f)
		h.Stamps(f)
		h.Newest(st.Log, f)
		h.Each(st.Log, rand.New(rand.NewPCG(1, 1)), len(c.records)*2, f)
		wantFound(t, c.name, f, c.want)
	}
}

// TestLastValueMayHaveAnOlderStamp: after a crash the last value of a key may have an older stamp
// than an earlier value with the same content. A reader of the compacted topic still gets the right
// value.
func TestLastValueMayHaveAnOlderStamp(t *testing.T) {
	st := stage(t, settings(), 1500)
	_, at := st.member(t)
	newest := st.published[at[len(at)-1]]
	again := func(lie func(*events.UnreadDelta)) *checker.Findings {
		older := checker.Lied(t, newest, func(d *events.UnreadDelta) { d.Stamp.M--; lie(d) })
		older.ProducerID, older.Offset = 2, 1<<40
		f := &checker.Findings{}
		checker.NewHistory(append(slices.Clone(st.published), older), f).Newest(st.Log, f)
		return f
	}
	wantFound(t, "the same", again(func(*events.UnreadDelta) {}), "")
	wantFound(t, "something else", again(func(d *events.UnreadDelta) { d.ReadEpoch++ }), "the newest value")
}

func wantFound(t *testing.T, name string, f *checker.Findings, want string) {
	t.Helper()
	switch {
	case want == "" && f.Count > 0:
		t.Errorf("%s: found where nothing is wrong: %s", name, f)
	case want != "" && !strings.Contains(strings.Join(f.First, "\n"), want):
		t.Errorf("%s: %q is not found: %s", name, want, f)
	}
}

func TestWrongDeadLettersAreFound(t *testing.T) {
	st := stage(t, settings(), 3000)
	letters := func() []*kgo.Record {
		var all []*kgo.Record
		for _, b := range st.Bad {
			letter := &kgo.Record{Key: b.Key, Value: b.Value}
			for _, h := range [][2]string{
				{processor.HeaderTopic, b.Topic}, {processor.HeaderPartition, strconv.Itoa(int(b.Partition))},
				{processor.HeaderOffset, strconv.FormatInt(b.Offset, 10)}, {processor.HeaderReason, string(b.Reason)},
				{processor.HeaderDetail, "in words"}, {processor.HeaderTimestamp, strconv.FormatInt(b.Timestamp.UnixMilli(), 10)},
			} {
				letter.Headers = append(letter.Headers, kgo.RecordHeader{Key: h[0], Value: []byte(h[1])})
			}
			all = append(all, letter)
		}
		return all
	}
	if len(st.Bad) < 2 {
		t.Fatalf("%d bad records", len(st.Bad))
	}
	good := st.inputs[0]
	for _, c := range []struct {
		name  string
		plant func(all []*kgo.Record) []*kgo.Record
		want  string
	}{
		{"nothing", func(all []*kgo.Record) []*kgo.Record { return all }, ""},
		{"twice", func(all []*kgo.Record) []*kgo.Record { return append(all, all[0]) }, ""},
		{"one is missing", func(all []*kgo.Record) []*kgo.Record { return all[1:] }, "no dead letter of it"},
		{"of a good record", func(all []*kgo.Record) []*kgo.Record {
			all[0].Headers[0].Value, all[0].Headers[1].Value = []byte(good.Topic), []byte(strconv.Itoa(int(good.Partition)))
			all[0].Headers[2].Value = []byte(strconv.FormatInt(good.Offset, 10))
			return all
		}, "which is no bad record"},
		{"another reason", func(all []*kgo.Record) []*kgo.Record { all[1].Headers[3].Value = []byte("x"); return all }, "has the reason"},
		{"no detail", func(all []*kgo.Record) []*kgo.Record { all[1].Headers[4].Value = nil; return all }, "says no detail"},
		{"another time", func(all []*kgo.Record) []*kgo.Record { all[1].Headers[5].Value = []byte("1"); return all }, "has the timestamp"},
		{"another value", func(all []*kgo.Record) []*kgo.Record { all[1].Value = []byte("x"); return all }, "has key"},
	} {
		wantFound(t, c.name, checkDead(st.Log, c.plant(letters())), c.want)
	}
}

// liar answers GetUnread as the model does, except for one pair.
type liar struct {
	queryv1connect.UnimplementedQueryServiceHandler
	*checker.Log
	pair string
	lie  func(*queryv1.ChannelUnread) error
}

func (l liar) GetUnread(_ context.Context, r *connect.Request[queryv1.GetUnreadRequest]) (*connect.Response[queryv1.ChannelUnread], error) {
	v, ok := l.View(r.Msg.GetUserId(), r.Msg.GetChannelId())
	if !ok {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("no such channel"))
	}
	a := &queryv1.ChannelUnread{Member: v.Member, Unread: v.Unread, Mentions: v.Mentions, OfflineUnread: v.OfflineUnread, Muted: v.Muted, ReadEpoch: v.ReadEpoch}
	if v.FirstUnread.Seq > 0 {
		a.FirstUnread = &queryv1.MessageRef{MessageId: v.FirstUnread.MessageID, Seq: v.FirstUnread.Seq}
	}
	if v.LastRead.Seq > 0 {
		a.LastRead = &queryv1.LastRead{MessageId: v.LastRead.MessageID, Seq: v.LastRead.Seq,
			At: timestamppb.New(time.UnixMilli(v.LastReadAt))}
	}
	if v.Latest.Seq > 0 {
		a.Latest = &queryv1.Latest{MessageId: v.Latest.MessageID, Seq: v.Latest.Seq, At: timestamppb.New(time.UnixMilli(v.Latest.At)),
			SenderId: v.Latest.SenderID, Preview: v.Latest.Preview}
	}
	if l.pair == v.UserID+" "+v.ChannelID {
		if err := l.lie(a); err != nil {
			return nil, err
		}
	}
	return connect.NewResponse(a), nil
}

func TestWrongAnswersAreFound(t *testing.T) {
	st := stage(t, settings(), 1000)
	key, _ := st.member(t)
	pair := strings.ReplaceAll(key, "\x00", " ")
	for i, id := range st.Channels() { // a few channels are enough
		if i > 10 && !strings.HasSuffix(pair, " "+id) {
			st.Forget(id)
		}
	}
	for _, c := range []struct {
		name string
		lie  func(*queryv1.ChannelUnread) error
		want string
	}{
		{"nothing", func(*queryv1.ChannelUnread) error { return nil }, ""},
		{"member", func(a *queryv1.ChannelUnread) error { a.Member = false; return nil }, "but it is"},
		{"unread", func(a *queryv1.ChannelUnread) error { a.Unread++; return nil }, "but it is"},
		{"mentions", func(a *queryv1.ChannelUnread) error { a.Mentions++; return nil }, "but it is"},
		{"offline", func(a *queryv1.ChannelUnread) error { a.OfflineUnread++; return nil }, "but it is"},
		{"first", func(a *queryv1.ChannelUnread) error { a.FirstUnread = &queryv1.MessageRef{Seq: 999}; return nil }, "but it is"},
		{"read", func(a *queryv1.ChannelUnread) error { a.LastRead = &queryv1.LastRead{Seq: 999}; return nil }, "but it is"},
		{"latest", func(a *queryv1.ChannelUnread) error { a.Latest = &queryv1.Latest{Seq: 999}; return nil }, "but it is"},
		{"muted", func(a *queryv1.ChannelUnread) error { a.Muted = !a.Muted; return nil }, "but it is"},
		{"epoch", func(a *queryv1.ChannelUnread) error { a.ReadEpoch++; return nil }, "but it is"},
		{"gone", func(*queryv1.ChannelUnread) error { return connect.NewError(connect.CodeNotFound, errors.New("x")) }, "no such channel"},
		{"moving", func(*queryv1.ChannelUnread) error { return connect.NewError(connect.CodeUnavailable, errors.New("x")) }, "says: unavailable"},
	} {
		_, handler := queryv1connect.NewQueryServiceHandler(liar{Log: st.Log, pair: pair, lie: c.lie})
		server := httptest.NewServer(handler)
		cl := &cluster{t: t, nodes: []*node{{name: "node1", url: server.URL}}}
		wantFound(t, c.name, cl.checkAnswers(st.Log, rand.New(rand.NewPCG(1, 1))), c.want)
		server.Close()
	}
}
