package travel

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// asked has the users and channels to query at each moment: all that records name.
type asked struct{ users, channels, messages map[string]bool }

func askedOf(records []script.Record) *asked {
	a := &asked{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, r := range records {
		a.channels[string(r.Key())] = true
		switch {
		case r.Message != nil:
			a.messages[string(r.Message.MessageID)] = true
			if r.Message.Kind == events.KindMembersJoined {
				for _, id := range r.Message.IDs {
					a.users[string(id)] = true
				}
			}
		case r.Read != nil:
			a.users[string(r.Read.UserID)] = true
		}
	}
	delete(a.messages, "")
	return a
}

// answers returns all answers of a node about asked, as JSON, by question.
func (a *asked) answers(t *testing.T, node query.Node, topics [events.NumInputs]string, at time.Time) map[string]string {
	t.Helper()
	h := query.Handler(query.Config{Node: node, Topics: topics, Logger: slog.New(slog.DiscardHandler)})
	client := queryv1connect.NewQueryServiceClient(&http.Client{Transport: direct{h}}, "http://direct")
	out := map[string]string{}
	note := func(what string, m proto.Message, err error) {
		text := fmt.Sprint(err)
		if err == nil {
			b, jerr := protojson.Marshal(m)
			if jerr != nil {
				t.Fatal(jerr)
			}
			text = strings.ReplaceAll(string(b), " ", "") // which protojson adds at random
		}
		out[what] = text
	}
	ctx, when := t.Context(), timestamppb.New(at)
	for c := range a.channels {
		res, err := client.GetChannel(ctx, connect.NewRequest(&queryv1.GetChannelRequest{ChannelId: c}))
		note("channel "+c, msg(res), err)
		readers, err := client.GetReaders(ctx, connect.NewRequest(&queryv1.GetReadersRequest{ChannelId: c, PageSize: 1000}))
		note("readers "+c, msg(readers), err)
		for u := range a.users {
			res, err := client.GetUnread(ctx, connect.NewRequest(&queryv1.GetUnreadRequest{UserId: u, ChannelId: c, EvaluatedAt: when}))
			note("unread "+u+" "+c, msg(res), err)
			why, err := client.ExplainUnread(ctx, connect.NewRequest(&queryv1.ExplainUnreadRequest{UserId: u, ChannelId: c}))
			note("explain "+u+" "+c, msg(why), err)
		}
		for m := range a.messages {
			res, err := client.GetReceipts(ctx, connect.NewRequest(&queryv1.GetReceiptsRequest{ChannelId: c, MessageId: m, PageSize: 1000}))
			note("receipts "+c+" "+m, msg(res), err)
		}
	}
	return out
}

// msg returns the message of an answer, nil if there is none.
func msg[T any, M interface {
	*T
	proto.Message
}](res *connect.Response[T]) proto.Message {
	if res == nil {
		return nil
	}
	return M(res.Msg)
}

// direct calls a handler.
type direct struct{ h http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.h.ServeHTTP(w, r)
	return w.Result(), nil
}

// For any log, an answer as of a position equals what a live node answered there: by time and by
// as_of, with a snapshot and from the beginning of the logs.
func TestThePastIsWhatANodeAnsweredThen(t *testing.T) {
	least, seed := 3, rand.IntN(1_000_000)
	if testing.Short() {
		least = 1
	}
	compared, withSnapshot := 0, 0
	for n := 0; n < least || compared < 100 || withSnapshot == 0; n, seed = n+1, seed+1 { // some scripts are small
		if n == 50 || t.Failed() {
			t.Fatalf("%d answers were compared in %d scripts, %d folds began with a snapshot", compared, n, withSnapshot)
		}
		draw := random.DrawMore(random.Admitted()...)
		if n%3 == 2 {
			draw = random.DrawCrowdMore(random.Admitted()...) // large channels
		}
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			drawn := rapid.Custom(draw).Example(seed)
			b := newBench(t, drawn.Settings)
			records := drawn.Log.Interleave(func(left []events.Input) int { return rand.IntN(len(left)) })
			about := askedOf(records)
			type point struct {
				m    Moment
				want map[string]string
			}
			var points []point
			for i, from := 0, 0; i < 3; i++ {
				to := from + (len(records)-from)/(3-i)
				m := b.write(records[from:to])
				points = append(points, point{m, about.answers(t, b.p, b.config.Topics.Inputs, m.Time)})
				if i == 0 && b.written != (projections.Position{}) {
					b.snapshot()
				}
				from = to
			}
			for i, p := range points {
				for _, m := range []Moment{p.m, {AsOf: asOf(p.want)}} {
					if len(m.AsOf) == 0 && m.Time.IsZero() {
						continue // nothing was written
					}
					g := b.guide((i+len(m.AsOf))%2 == 0)
					trip, err := g.begin(t.Context(), m)
					if err != nil {
						t.Fatal(err)
					}
					if err := trip.arrive(t.Context(), []int32{0}); err != nil {
						t.Fatalf("%s: %v\n%s", m, err, drawn)
					}
					got := about.answers(t, trip, b.config.Topics.Inputs, p.m.Time)
					for what, want := range p.want {
						if got[what] != want {
							t.Errorf("%s as of %s: %s, and the node answered %s\n%s", what, m, got[what], want, drawn)
							break
						}
						compared++
					}
					if err := trip.close(); err != nil {
						t.Error(err)
					}
				}
			}
			withSnapshot += strings.Count(b.log.String(), "begins with a snapshot")
		})
	}
	t.Logf("%d answers were compared, %d folds began with a snapshot", compared, withSnapshot)
}

// asOf returns the longest as_of of the answers, which names the most inputs.
func asOf(answers map[string]string) []string {
	var m Moment
	for _, text := range answers {
		var res queryv1.GetChannelResponse
		if (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(text), &res) == nil && len(res.AsOf) > len(m.AsOf) {
			m.AsOf = res.AsOf
		}
	}
	return m.AsOf
}

// A call over HTTP is answered by time in the API's JSON, one call at a time, and leaves no
// directory behind.
func TestAGuideServesTheAPI(t *testing.T) {
	b := newBench(t, projections.DefaultSettings())
	first := b.write(b.parse("a, b join #c\nb posts m1 #c\nb posts m2 #c"))
	b.write(b.parse("b posts m3 #c\na reads up to m3 #c"))
	g := b.guide(false)
	server := httptest.NewServer(g)
	defer server.Close()
	post := func(at, method, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/tidemark.query.v1.QueryService/"+method, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(HeaderAt, at)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	const about = `{"user_id":"a","channel_id":"c"}`
	if code, text := post(first.String(), "GetUnread", about); code != http.StatusOK || !strings.Contains(text, `"unread":2,`) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := post(b.now().Format(time.RFC3339Nano), "GetUnread", about); code != http.StatusOK || !strings.Contains(text, `"unread":0,`) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := post(first.Time.Add(-time.Hour).Format(time.RFC3339Nano), "GetUnread", about); code != http.StatusNotFound {
		t.Errorf("before the first record: %d %s", code, text)
	}
	if code, text := post(first.String(), "GetInbox", `{"user_id":"a"}`); code != http.StatusOK || !strings.Contains(text, `"unread":2,`) {
		t.Errorf("%d %s", code, text)
	}
	for at, want := range map[string]string{
		"": "is not a moment", "yesterday": "is not a moment", b.now().Add(time.Hour).Format(time.RFC3339Nano): "has not come yet",
		"x/0/7": "with partitions 0 to 0", b.config.Topics.Inputs[0] + "/9/7": "with partitions 0 to 0",
	} {
		if code, text := post(at, "GetUnread", about); code != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%q: %d %s", at, code, text)
		}
	}
	if code, text := post(b.config.Topics.Inputs[0]+"/0/700", "GetUnread", about); code == http.StatusOK || !strings.Contains(text, "there is no record 700") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := post(first.String(), "GetUnread", `{"user_id":"a","channel_id":"c","after":["`+b.config.Topics.Inputs[0]+`/0/3"]}`); code != http.StatusServiceUnavailable ||
		!strings.Contains(text, "the moment is before this record") {
		t.Errorf("%d %s", code, text)
	}
	g.everywhere = false
	if code, text := post(first.String(), "GetInbox", `{"user_id":"a"}`); code != http.StatusBadRequest || !strings.Contains(text, "--offline") {
		t.Errorf("%d %s", code, text)
	}
	_, leave, err := g.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if code, text := post(first.String(), "GetUnread", about); code != http.StatusTooManyRequests || !strings.Contains(text, "another question") {
		t.Errorf("%d %s", code, text)
	}
	leave()
	res, err := g.Client(first).GetUnread(t.Context(), connect.NewRequest(&queryv1.GetUnreadRequest{UserId: "a", ChannelId: "c"}))
	if err != nil || res.Msg.Unread != 2 || !res.Msg.EvaluatedAt.AsTime().Equal(first.Time) {
		t.Errorf("%v, %v", res, err)
	}
	if left, _ := filepath.Glob(filepath.Join(g.fold.DataDir, "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if err := os.Mkdir(filepath.Join(g.fold.DataDir, scratchPrefix+"1"), 0o700); err != nil {
		t.Fatal(err)
	}
	g.Clean()
	if left, _ := filepath.Glob(filepath.Join(g.fold.DataDir, "*")); len(left) > 0 {
		t.Errorf("not cleaned: %q", left)
	}
}

// A snapshot that is newer than the moment is not begun with, however near it is: the answer is
// that of the moment, from an older snapshot or from the beginning of the logs.
func TestANewerSnapshotIsNotTaken(t *testing.T) {
	b := newBench(t, projections.DefaultSettings())
	first := b.write(b.parse("a, b join #c\nb posts m1 #c"))
	unread := func(m Moment, want uint32) {
		t.Helper()
		res, err := b.guide(true).Client(m).GetUnread(t.Context(), connect.NewRequest(&queryv1.GetUnreadRequest{UserId: "a", ChannelId: "c"}))
		if err != nil || res.Msg.Unread != want {
			t.Errorf("%s: %v, %v, want %d", m, res, err, want)
		}
	}
	b.write(b.parse("b posts m2 #c"))
	b.snapshot()
	unread(first, 1)
	second := Moment{Time: b.now()}
	b.clock.Add(10)
	b.write(b.parse("b posts m3 #c"))
	b.snapshot()
	unread(first, 1)
	unread(second, 2)
	if n := strings.Count(b.log.String(), "begins with a snapshot"); n != 1 {
		t.Errorf("%d of 3 answers begin with a snapshot, want that of the second moment alone", n)
	}
}

// If retention has removed records, the answer begins with a snapshot from before the moment, or is
// an error that names the oldest possible moment.
func TestBeyondRetention(t *testing.T) {
	b := newBench(t, projections.DefaultSettings())
	early := b.write(b.parse("a, b join #c\nb posts m1 #c\na reads up to m1 #c"))
	b.write(b.parse("b posts m2 #c"))
	at := b.snapshot()
	snapped := Moment{Time: b.now()}
	b.clock.Add(10)
	later := b.write(b.parse("b posts m3 #c"))
	b.write(b.parse("b posts m4 #c\na reads up to m4 #c"))
	b.trim(at)
	unread := func(m Moment, snapshots bool) (uint32, error) {
		res, err := b.guide(snapshots).Client(m).GetUnread(t.Context(), connect.NewRequest(&queryv1.GetUnreadRequest{UserId: "a", ChannelId: "c"}))
		if err != nil {
			return 0, err
		}
		return res.Msg.Unread, nil
	}
	for m, want := range map[*Moment]uint32{&snapped: 1, &later: 2} {
		if n, err := unread(*m, true); err != nil || n != want {
			t.Errorf("%s: %d, %v, want %d", m, n, err, want)
		}
	}
	if _, err := unread(early, true); connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(fmt.Sprint(err), "retention no longer reaches "+early.String()) ||
		!strings.Contains(fmt.Sprint(err), "ask for 2026-11-20T10:00:00Z or later") {
		t.Errorf("%v", err)
	}
	if _, err := unread(later, false); connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(fmt.Sprint(err), "name their place with --snapshots") {
		t.Errorf("%v", err)
	}
}

// A Diff has the changed fields and the records about the user, and no text of a message.
func TestDiff(t *testing.T) {
	b := newBench(t, projections.DefaultSettings())
	before := b.write(b.parse("a, b, d join #c\na, b join #quiet\nb posts m1 \"secret\" #c\na reads up to m1 #c\nb posts q1 #quiet"))
	b.write(b.parse("b posts m2 \"secret\" #c\nd joins #quiet\nd reads up to m2 #c"))
	b.write(b.parse("b posts m3 @a #c\na mutes #c"))
	after := Moment{Time: b.now()}
	g := b.guide(true)
	d, err := g.Diff(t.Context(), Question{UserID: "a", From: before, To: after})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Channels) != 1 || d.Channels[0].ChannelID != "c" {
		t.Fatalf("%+v", d)
	}
	c := d.Channels[0]
	fields := map[string]string{}
	for _, f := range c.Fields {
		fields[f.Name] = f.From + " -> " + f.To
	}
	if fields["unread"] != "0 -> 2" || fields["mentions"] != "0 -> 1" || fields["muted"] != "false -> true" || fields["latest"] == "" || fields["last_read"] != "" {
		t.Errorf("%v", fields)
	}
	var kinds []string
	for _, r := range c.Records {
		kinds = append(kinds, r.Kind+" "+r.By+" "+r.MessageID)
	}
	if got := strings.Join(kinds, ", "); got != "message_posted b m2, message_posted b m3, channel_muted a " {
		t.Errorf("%s", got)
	}
	if strings.Contains(fmt.Sprintf("%+v", d), "secret") {
		t.Errorf("%+v", d)
	}
	one, err := g.Diff(t.Context(), Question{UserID: "a", ChannelID: "c", From: before, To: after, Records: 1})
	if err != nil || len(one.Channels) != 1 || len(one.Channels[0].Records) != 1 || one.Channels[0].More != 2 {
		t.Errorf("%+v, %v", one, err)
	}
	if same, err := g.Diff(t.Context(), Question{UserID: "a", From: after, To: after}); err != nil || len(same.Channels) != 0 {
		t.Errorf("%+v, %v", same, err)
	}
	for _, q := range []Question{{From: before, To: after}, {UserID: "a", From: after, To: before}, {UserID: "a", From: before, To: after, Records: 1001}, {UserID: "a", To: after}} {
		if _, err := g.Diff(t.Context(), q); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(g.fold.DataDir, "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// ParseMoment reads times as people write them, and the as_of of answers.
func TestParseMoment(t *testing.T) {
	zone := time.FixedZone("", 3600)
	at := time.Date(2026, 11, 20, 10, 32, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"2026-11-20 10:32": at, "2026-11-20T10:32": at, " 2026-11-20 10:32:07 ": at.Add(7 * time.Second), "2026-11-20": at.Add(-10*time.Hour - 32*time.Minute),
		"2026-11-20T10:32:00Z": at.Add(time.Hour), "2026-11-20 10:32:00.25": at.Add(250 * time.Millisecond),
	} {
		m, err := ParseMoment(text, zone)
		if err != nil || !m.Time.Equal(want) {
			t.Errorf("%q: %v, %v", text, m, err)
		}
		if again, err := ParseMoment(m.String(), time.UTC); err != nil || !again.Time.Equal(want) {
			t.Errorf("%q: %v, %v", m, again, err)
		}
	}
	m, err := ParseMoment("chat.messages/2/17, chat.reads/2/4", zone)
	if err != nil || len(m.AsOf) != 2 || m.String() != "chat.messages/2/17,chat.reads/2/4" {
		t.Errorf("%v, %v", m, err)
	}
	for _, bad := range []string{"", "10:32", "chat.messages/2", "a/b/c"} {
		if m, err := ParseMoment(bad, zone); err == nil {
			t.Errorf("%q: %v", bad, m)
		}
	}
}
