package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// folded is a node with fixed numbers. It changes the number of a moving pair with each answer.
type folded struct {
	queryv1connect.UnimplementedQueryServiceHandler
	mu     sync.Mutex
	counts map[Pair]uint32
	moves  Pair
	late   int // answers until everything is folded
}

func (f *folded) of(p Pair) uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p == f.moves {
		f.counts[p]++
	}
	return f.counts[p]
}

func (f *folded) GetInbox(_ context.Context, r *connect.Request[queryv1.GetInboxRequest]) (*connect.Response[queryv1.GetInboxResponse], error) {
	f.mu.Lock()
	f.late--
	late := f.late >= 0
	f.mu.Unlock()
	if late || !slices.Equal(r.Msg.After, []string{"chat.messages/0/7"}) {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("not folded yet"))
	}
	res := &queryv1.GetInboxResponse{}
	page := r.Msg.PageToken
	for _, channel := range []string{"a", "b", "deleted"} {
		if p := (Pair{r.Msg.UserId, channel, ""}); (page == "") == (channel == "a") && f.has(p) {
			res.Channels = append(res.Channels, &queryv1.ChannelUnread{ChannelId: channel, Member: true, Unread: f.of(p)})
		}
	}
	if page == "" {
		res.NextPageToken = "more"
	}
	return connect.NewResponse(res), nil
}

func (f *folded) has(p Pair) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, has := f.counts[p]
	return has
}

func (f *folded) GetThreads(_ context.Context, r *connect.Request[queryv1.GetThreadsRequest]) (*connect.Response[queryv1.GetThreadsResponse], error) {
	return connect.NewResponse(&queryv1.GetThreadsResponse{Threads: []*queryv1.ThreadUnread{
		{ChannelId: "a", ThreadId: "t", Unread: f.of(Pair{r.Msg.UserId, "a", "t"})},
	}}), nil
}

func (f *folded) GetUnread(_ context.Context, r *connect.Request[queryv1.GetUnreadRequest]) (*connect.Response[queryv1.ChannelUnread], error) {
	if r.Msg.ChannelId == "unknown" {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("no such channel"))
	}
	return connect.NewResponse(&queryv1.ChannelUnread{ChannelId: r.Msg.ChannelId}), nil
}

func (f *folded) ExplainUnread(_ context.Context, r *connect.Request[queryv1.ExplainUnreadRequest]) (*connect.Response[queryv1.ExplainUnreadResponse], error) {
	p := Pair{r.Msg.UserId, r.Msg.ChannelId, r.Msg.ThreadId}
	res := &queryv1.ExplainUnreadResponse{Unread: f.of(p), Excluded: &queryv1.Excluded{Deleted: 2}}
	for i := range res.Unread {
		res.MessageIds = append(res.MessageIds, fmt.Sprint("m", i))
	}
	return connect.NewResponse(res), nil
}

// run compares counts with a node, and returns the lines in order.
func run(t *testing.T, f *folded, conf Config, source *rowsOf) (lines []string, res *Result) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(queryv1connect.NewQueryServiceHandler(f))
	server := httptest.NewServer(mux)
	defer server.Close()
	opened := 0
	conf.Node, conf.Policy, conf.Patience = queryv1connect.NewQueryServiceClient(server.Client(), server.URL), cmp.Or(conf.Policy, &TablePolicy), cmp.Or(conf.Patience, time.Minute)
	if conf.Position == nil {
		conf.Position = func(context.Context) ([]string, error) { return nil, errors.New("not live yet") }
	}
	if conf.Open == nil {
		conf.Open = func(context.Context) (importer.Counter, func(), error) {
			opened++
			return source, func() { opened-- }, nil
		}
	}
	conf.Ends = func(context.Context) ([]string, error) { return []string{"chat.messages/0/7"}, nil }
	conf.Progress = func(importer.Progress) {}
	conf.Line = func(l *Line) error { lines = append(lines, l.String()); return nil }
	res, err := Run(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	if opened != 0 {
		t.Errorf("%d sources were not released", opened)
	}
	slices.Sort(lines)
	return lines, res
}

func count(user, channel, thread string, unread int64) importer.Count {
	return importer.Count{User: user, Channel: channel, Thread: thread, Unread: unread}
}

// Run queries each pair, waits for it, and explains it, if necessary by the rows of the source.
func TestRun(t *testing.T) {
	f := &folded{late: 2, counts: map[Pair]uint32{{"ann", "a", ""}: 3, {"ann", "b", ""}: 1, {"ann", "a", "t"}: 2, {"bob", "a", ""}: 5, {"ann", "a", "old"}: 4}}
	source := &rowsOf{
		counts: []importer.Count{
			count("ann", "a", "", 3), count("ann", "b", "", 3), count("ann", "a", "t", 2), count("ann", "a", "old", 5), count("ann", "none", "", 0),
			count("ann", "unknown", "", 2), count("bob", "a", "", 1), count("bob", "deleted", "", 7), count("bob", "", "", 1),
			count("cem", "unknown", "", 0),
		},
		events: []importer.Event{
			{Kind: importer.KindPost, Channel: "unknown", ID: "x1", User: "eve", At: at(1)}, {Kind: importer.KindPost, Channel: "unknown", ID: "x2", User: "cem", At: at(2)},
			{Kind: importer.KindPost, Channel: "a", ID: "m0", User: "eve", At: at(1)},
			{Kind: importer.KindPost, Channel: "deleted", ID: "d", User: "eve", At: at(1)},
			{Kind: importer.KindChannelDeleted, Channel: "deleted", At: at(2)},
		},
	}
	lines, res := run(t, f, Config{}, source)
	want := []string{
		"ann a thread old: theirs 5, ours 4: theirs_wrong: 1 deleted, but counted",
		"ann a thread t: theirs 2, ours 2: equal: ",
		"ann a: theirs 3, ours 3: equal: ",
		"ann b: theirs 3, ours 1: theirs_wrong: 2 deleted, but counted",
		"ann none: theirs 0, ours 0: equal: ",
		"ann unknown: theirs 2, ours 0: ours_wrong: the node does not have the channel, and their rows have 2, input missing: x1 (rows:1), x2 (rows:2)",
		"bob : theirs 1, ours 0: not_comparable: an id that Tidemark does not accept",
		"bob a: theirs 1, ours 5: ours_wrong: their rows have 1, not there: m1, m2, m3 and 1 more",
		"bob deleted: theirs 7, ours 0: not_comparable: the channel is deleted",
		"cem unknown: theirs 0, ours 0: equal: ",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if res.Users != 3 || res.Pairs != 10 || res.Buckets[Equal] != 4 || res.Buckets[OursWrong] != 2 || res.Buckets[TheirsWrong] != 2 {
		t.Errorf("%+v", res)
	}
}

// A pair that moves between readings is tried again. It counts as moved only if it never stops
// moving.
func TestMovedPairs(t *testing.T) {
	f := &folded{counts: map[Pair]uint32{{"ann", "a", ""}: 10, {"ann", "b", ""}: 1}, moves: Pair{"ann", "a", ""}}
	source := &rowsOf{counts: []importer.Count{count("ann", "a", "", 3), count("ann", "b", "", 1)}}
	lines, _ := run(t, f, Config{}, source)
	if len(lines) != 2 || !strings.Contains(lines[0], "moved: the numbers changed between all readings") {
		t.Errorf("ours moves: %q", lines)
	}

	f.moves, f.counts[Pair{"ann", "a", ""}] = Pair{}, 5
	readings := 0
	open := func(context.Context) (importer.Counter, func(), error) {
		readings++
		n := []importer.Count{count("ann", "a", "", int64(2+readings)), count("ann", "b", "", 1)}
		return &rowsOf{counts: n}, func() {}, nil
	}
	lines, _ = run(t, f, Config{Open: open}, nil)
	if len(lines) != 2 || lines[0] != "ann a: theirs 5, ours 5: equal: " || readings != 3 {
		t.Errorf("theirs moves until it is ours, %d readings: %q", readings, lines)
	}

	open = func(context.Context) (importer.Counter, func(), error) {
		if readings++; readings%2 == 0 {
			return &rowsOf{counts: []importer.Count{count("ann", "a", "", 3)}}, func() {}, nil
		}
		return &rowsOf{}, func() {}, nil
	}
	lines, _ = run(t, f, Config{Open: open}, nil)
	if len(lines) != 1 || lines[0] != "ann a: theirs 3, ours 5: moved: their number is gone" {
		t.Errorf("theirs goes: %q", lines)
	}
}

// A sample has the same users each time, whatever order they come in.
func TestSample(t *testing.T) {
	var counts []importer.Count
	for i := range 300 {
		counts = append(counts, count(fmt.Sprint("u", i%100), fmt.Sprint("c", i), "", 0))
	}
	users := func() []string {
		lines, res := run(t, &folded{counts: map[Pair]uint32{}}, Config{Sample: 7}, &rowsOf{counts: counts})
		if res.Users != 7 || res.Pairs != 21 {
			t.Errorf("%+v", res)
		}
		return lines
	}
	first := users()
	slices.Reverse(counts)
	if again := users(); !slices.Equal(first, again) {
		t.Errorf("%q, then %q", first, again)
	}
}

// muter is a product that knows when users had muted channels.
type muter struct {
	rowsOf
	muted   [][3]string // user, channel and message
	asked   map[string][]string
	unknown string
}

func (m *muter) WhileMuted(_ context.Context, in map[string][]string, p *importer.Problems, emit func(user, channel, id string) error) (string, error) {
	m.asked = in
	p.Add(importer.Origin{Table: "rules", Row: 1}, "a rule without a beginning", "of ann")
	for _, x := range m.muted {
		if err := emit(x[0], x[1], x[2]); err != nil {
			return "", err
		}
	}
	return m.unknown, nil
}

// A number lacks messages that came while its user had muted the channel. It is right by the
// product's own rule. Run asks only about numbers that are too low, and a mute explains no more
// messages than came during it.
func TestEarlierMutes(t *testing.T) {
	product := &muter{unknown: "no rules"}
	f := &folded{counts: map[Pair]uint32{}}
	for _, user := range []string{"ann", "bob", "cem", "dee"} {
		product.events = append(product.events, importer.Event{Kind: importer.KindMember, Channel: "a", User: user, At: at(0)})
		f.counts[Pair{user, "a", ""}] = 3
	}
	for i, id := range []string{"m1", "m2", "m3"} {
		product.events = append(product.events, importer.Event{Kind: importer.KindPost, Channel: "a", ID: id, User: "eve", At: at(int64(i + 1))})
	}
	product.counts = []importer.Count{count("ann", "a", "", 1), count("bob", "a", "", 1), count("cem", "a", "", 5), count("dee", "a", "", 3)}
	product.muted = [][3]string{{"ann", "a", "m1"}, {"ann", "a", "m2"}, {"ann", "a", "state"}, {"ann", "b", "m3"}, {"bob", "a", "m1"}, {"cem", "a", "m1"}}
	open := func(context.Context) (importer.Counter, func(), error) { return product, func() {}, nil }
	lines, result := run(t, f, Config{Policy: &SynapsePolicy, Open: open}, nil)
	want := []string{
		"ann a: theirs 1, ours 3: policy: 2 less from while they had muted the room",
		"bob a: theirs 1, ours 3: theirs_wrong: stale: their own rows have 3",
		"cem a: theirs 5, ours 3: theirs_wrong: 2 redacted, but counted",
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "dee") })
	if !slices.Equal(lines, want) {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	if len(product.asked) != 2 || !slices.Equal(product.asked["ann"], []string{"a"}) || !slices.Equal(product.asked["bob"], []string{"a"}) {
		t.Errorf("asked about %v", product.asked)
	}
	if result.Unknown != "no rules" || len(result.Problems) != 1 || result.Problems[0].Reason != "a rule without a beginning" {
		t.Errorf("%+v", result)
	}
}

// versioner is a product that keeps the versions of edited messages.
type versioner struct {
	rowsOf
	versions []importer.Event
	asked    []string
}

func (v *versioner) Versions(_ context.Context, channels []string, emit func(*importer.Event) error) error {
	v.asked = channels
	for _, e := range v.versions {
		if err := emit(&e); err != nil {
			return err
		}
	}
	return nil
}

// Users follow a thread whose reply mentioned them once, in a version that a bridge has written.
// Run asks about versions only where the newest ones do not explain our number. A version by another
// user than the author counts for nothing, and a follow that an import did not see is not asked for.
func TestVersions(t *testing.T) {
	product, f := &versioner{}, &folded{counts: map[Pair]uint32{}}
	for _, user := range []string{"ann", "bob", "cem", "dee"} {
		product.events = append(product.events, importer.Event{Kind: importer.KindMember, Channel: "a", User: user, At: at(0)})
		product.counts = append(product.counts, count(user, "a", "t", 0))
		f.counts[Pair{user, "a", "t"}] = 2
	}
	product.counts = append(product.counts, count("dee", "b", "", 0))
	f.counts[Pair{"dee", "a", "t"}] = 0
	product.events = append(product.events,
		importer.Event{Kind: importer.KindMute, Channel: "a", User: "ann"},
		importer.Event{Kind: importer.KindPost, Channel: "a", ID: "t", User: "eve", At: at(1)},
		importer.Event{Kind: importer.KindPost, Channel: "a", ID: "m0", Thread: "t", User: "fay", At: at(2)},
		importer.Event{Kind: importer.KindPost, Channel: "a", ID: "m1", Thread: "t", User: "fay", At: at(3)})
	version := func(id, by, mentioned string) importer.Event {
		return importer.Event{Kind: importer.KindEdit, Channel: "a", ID: id, User: by, Mentions: []string{mentioned}}
	}
	product.versions = []importer.Event{version("m0", "fay", "ann"), version("m0", "eve", "bob"), version("m1", "fay", "cem"), version("m0", "fay", "dee")}
	open := func(context.Context) (importer.Counter, func(), error) { return product, func() {}, nil }
	lines, _ := run(t, f, Config{Policy: &SynapsePolicy, Open: open}, nil)
	want := []string{
		"ann a thread t: theirs 0, ours 2: policy: 2 less, because they muted the room",
		"bob a thread t: theirs 0, ours 2: ours_wrong: their rows have 0, not there: m0, m1",
		"cem a thread t: theirs 0, ours 2: ours_wrong: their rows have 0, not there: m0, m1",
		"dee a thread t: theirs 0, ours 0: equal: ",
		"dee b: theirs 0, ours 0: equal: ",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	if !slices.Equal(product.asked, []string{"a"}) {
		t.Errorf("asked about %q", product.asked)
	}
}
