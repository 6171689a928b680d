package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/cmd/internal/verbs/deadletters"
	"github.com/tidemark/tidemark/cmd/internal/verbs/inspect"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

const (
	joinLine = `{"topic":"chat.messages","event":{"channel_id":"general","members_joined":{"user_ids":["ann","bob"]}}}`
	readLine = `{"topic":"chat.reads","event":{"channel_id":"general","user_id":"ann","read_up_to":{"message_id":"m1"}}}`
)

func postLine(id, preview string) string {
	return fmt.Sprintf(`{"topic":"chat.messages","event":{"channel_id":"general","message_posted":{"message_id":%q,"sender_id":"bob","preview":%q}}}`, id, preview)
}

// What emit prints is what query takes as --after.
func TestEmitAndQuery(t *testing.T) {
	s := stack(t)
	input := strings.Join([]string{joinLine, postLine("m1", "one"), "", postLine("m2", "@ann two"), readLine}, "\n")
	tokens := lines(ok(t, input, "emit", "--brokers", s.Broker))
	if len(tokens) != 4 || !strings.HasPrefix(tokens[0], "chat.messages/") || !strings.HasPrefix(tokens[3], "chat.reads/") {
		t.Fatalf("tokens %q", tokens)
	}
	after := []string{"--addr", s.URL, "--after", strings.Join(tokens, ",")}
	args := func(verb ...string) []string { return append(append([]string{"query"}, verb...), after...) }

	out := ok(t, "", args("unread", "ann", "general")...)
	for _, want := range []string{"member          yes", "unread          1", "first unread    m2 (seq 2)", "bob: @ann two"} {
		if !strings.Contains(out, want) {
			t.Errorf("unread: %q is not in\n%s", want, out)
		}
	}
	var answer struct {
		Unread   int
		Mentions *int     // zeros are written out
		AsOf     []string `json:"as_of"`
	}
	if err := json.Unmarshal([]byte(ok(t, "", args("unread", "ann", "general", "--json")...)), &answer); err != nil ||
		answer.Unread != 1 || answer.Mentions == nil || *answer.Mentions != 0 || len(answer.AsOf) < 2 { // and what the gateway says was queued
		t.Errorf("unread --json: %+v, %v", answer, err)
	}
	if out := ok(t, "", args("inbox", "ann")...); !strings.Contains(out, "general       1         0  #2 m2") ||
		!strings.Contains(out, "total: 1 unread in 1 channel, 0 mentions") {
		t.Errorf("inbox:\n%s", out)
	}
	if out := ok(t, "", args("inbox", "nobody")...); !strings.HasPrefix(out, "total: 0 unread") {
		t.Errorf("an empty inbox:\n%s", out)
	}
	if out := ok(t, "", args("explain", "ann", "general")...); !strings.Contains(out, "messages      m2") ||
		!strings.Contains(out, "put there by  "+tokens[3]) {
		t.Errorf("explain:\n%s", out)
	}
	if out := ok(t, "", args("channel", "general")...); !strings.Contains(out, "members   2") || !strings.Contains(out, "m2 (seq 2)") {
		t.Errorf("channel:\n%s", out)
	}
	if r := tidemark(t, "", args("channel", "nowhere")...); r.code != exitFailed || !strings.Contains(r.errout, "not_found") {
		t.Errorf("an unknown channel: %+v", r)
	}
	if r := tidemark(t, "", "query", "unread", "ann", "general", "--addr", s.URL, "--after", "chat.messages/0"); r.code != exitFailed ||
		!strings.Contains(r.errout, "invalid_argument") {
		t.Errorf("a malformed token: %+v", r)
	}
}

func TestEmitSaysWhatIsWrongWithALine(t *testing.T) {
	s := stack(t)
	for _, c := range []struct{ line, topic, want string }{
		{`not json`, "", `want {"topic"`},
		{`{"topic":"chat.messages"}`, "", "event: missing"},
		{`{"topic":"chat.messages","event":{}}`, "", "no_kind"},
		{`{"topic":"elsewhere","event":{}}`, "", `"elsewhere" is not an input topic`},
		{`{"topic":"chat.messages","evnt":{}}`, "", "evnt"},
		{`{"topic":"chat.messages","event":{}} {}`, "", "more than one JSON value"},
		{`{"channel_id":"c","message_posted":{"message_id":"m"}}`, events.TopicMessages, "message_posted.sender_id"},
		{`{"channel_id":"c","message_posted":{"mesage_id":"m"}}`, events.TopicMessages, `unknown field "mesage_id"`},
		{`{"channel_id":"c","user_id":"u","read_up_to":{"seq":0}}`, events.TopicReads, "zero_seq"},
		{`{"channel_id":"c","user_id":"u","delivered":{}}`, events.TopicDeliveries, "delivered"},
		{`{"topic":7,"event":{}}`, "", "topic: must be a string"},
		{`[1]`, "", "the line is not a JSON object"},
		{`{"topic":"chat.messages","event":`, "", "the JSON ends too early"},
		{`{"topic":"chat.messages","event":[1]}`, "", "event: must be a JSON object"},
		{`{"channel_id":42}`, events.TopicMessages, "channel_id: is a number, must be a string (line 1, column 15)"},
		{`{"topic":"chat.messages","event":{"channel_id":"c","message_posted":{"message_id":7}}}`, "", "message_posted.message_id: is a number, must be a string"},
		{`{"channel_id":"c","user_id":"u","notify_set":{"level":"LOUD"}}`, events.TopicReads, "notify_set"},
		{`{"channel_id":"c","user_id":"u","labels_set":{"labels":["a\u0007"]}}`, events.TopicReads, "labels_set"},
		{`{"channel_id":"c","user_id":"u","line_set":{}}`, events.TopicReads, "line_set"},
		{`{"occurred_at":"2026-01-02 03:04:05"}`, events.TopicMessages, "a T, no space, between date and time"},
	} {
		args := []string{"emit", "--brokers", s.Broker}
		good := joinLine
		if c.topic != "" {
			args = append(args, "--topic", c.topic)
			good = ""
		}
		r := tidemark(t, good+"\n"+c.line+"\n"+good, args...)
		if r.code != exitFailed || !strings.Contains(r.errout, "line 2: ") || !strings.Contains(r.errout, c.want) || strings.Count(r.errout, "\n") != 1 ||
			strings.Contains(r.errout, "Go ") || strings.Contains(r.errout, "proto:") {
			t.Errorf("%s: exit %d, %q; want %q, and no type of Go", c.line, r.code, r.errout, c.want)
		}
		if wrote := strings.Count(r.out, "\n"); good != "" && wrote != 1 {
			t.Errorf("%s: %d events written, want the one before it", c.line, wrote)
		}
	}
	if r := tidemark(t, strings.Repeat("x", maxLine+1), "emit", "--brokers", s.Broker); r.code != exitFailed || !strings.Contains(r.errout, "line 1: longer than") {
		t.Errorf("an endless line: %d %.200q", r.code, r.errout)
	}
	var token struct {
		Line  int
		After string
	}
	if err := json.Unmarshal([]byte(ok(t, "\n"+joinLine, "emit", "--json", "--brokers", s.Broker)), &token); err != nil || token.Line != 2 || token.After == "" {
		t.Errorf("--json: %+v, %v", token, err)
	}
}

// A field beside a known kind is ignored, as in the topics, but not in silence.
func TestEmitLeavesOutUnknownFields(t *testing.T) {
	s := stack(t)
	line := `{"topic":"chat.messages","event":{"channel_id":"odd","trace":{"id":[1]},"message_posted":{"message_id":"m1","sender_id":"bob","mention":["ann"]}}}`
	r := tidemark(t, joinLine+"\n"+line+"\n", "emit", "--brokers", s.Broker)
	if r.code != exitDone || strings.Count(r.out, "\n") != 2 || strings.Count(r.errout, "\n") != 1 ||
		!strings.Contains(r.errout, `line 2: unknown field "trace"`) {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.errout)
	}
	token := strings.Fields(r.out)[1]
	if out := ok(t, "", "query", "channel", "odd", "--addr", s.URL, "--after", token); !strings.Contains(out, "m1 (seq 1)") {
		t.Errorf("it was not written:\n%s", out)
	}
}

// Tokens come while the input is still open: emit can be fed by a program.
func TestEmitAnswersAsItGoes(t *testing.T) {
	s := stack(t)
	in, feed := io.Pipe()
	var out testkit.Output
	code := make(chan int)
	go func() {
		code <- execute(context.Background(), []string{"tidemark", "emit", "--brokers", s.Broker}, in, &out, io.Discard)
	}()
	fmt.Fprintln(feed, joinLine)
	out.Await(t, "chat.messages/")
	fmt.Fprintln(feed, readLine)
	out.Await(t, "chat.reads/")
	if err := feed.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != exitDone {
		t.Errorf("exit %d", got)
	}
}

func TestTopicsCreateAndCheck(t *testing.T) {
	// An own broker: these verbs know the topics by the names of production.
	brokers := strings.Join(testkit.FakeKafka(t).ListenAddrs(), ",")
	r := tidemark(t, "", "topics", "check", "--brokers", brokers)
	if r.code != exitDifferences || len(lines(r.out)) != 7 || !strings.Contains(r.out, "chat.messages: missing") || r.errout != "" {
		t.Fatalf("before: %+v", r)
	}
	if r := tidemark(t, joinLine, "emit", "--brokers", brokers); r.code != exitFailed || !strings.Contains(r.errout, "tidemark topics create") {
		t.Errorf("emit without topics: %+v", r)
	}
	create := []string{"topics", "create", "--brokers", brokers, "--partitions", "3", "--replication-factor", "1"}
	if out := ok(t, "", create...); strings.Count(out, "created  ") != 7 {
		t.Errorf("create:\n%s", out)
	}
	if out := ok(t, "", create...); strings.Count(out, "existed  ") != 7 || strings.Contains(out, "created") {
		t.Errorf("create again:\n%s", out)
	}
	if out := ok(t, "", append(create, "--topic-prefix", "v2.")...); strings.Count(out, "created  v2.") != 7 {
		t.Errorf("create with a prefix:\n%s", out)
	}
	var report struct{ Created, Existed []string }
	if err := json.Unmarshal([]byte(ok(t, "", append(create, "--json")...)), &report); err != nil || len(report.Existed) != 7 {
		t.Errorf("create --json: %+v, %v", report, err)
	}
	for _, args := range [][]string{nil, {"--partitions", "3"}, {"--partitions", "3", "--replication-factor", "1"}} {
		ok(t, "", append([]string{"topics", "check", "--brokers", brokers}, args...)...)
	}
	r = tidemark(t, "", "topics", "check", "--brokers", brokers, "--partitions", "4", "--json")
	var found struct {
		Differences []struct{ Topic, Aspect, Want, Got string }
	}
	if err := json.Unmarshal([]byte(r.out), &found); err != nil || r.code != exitDifferences || len(found.Differences) != 7 ||
		found.Differences[0].Want != "4" || found.Differences[0].Got != "3" {
		t.Errorf("check --json: %+v, %v", r, err)
	}
	if r := tidemark(t, "", append(create[:4:4], "--partitions", "3", "--replication-factor", "2")...); r.code != exitDone {
		t.Errorf("create with other replicas leaves what is there: %+v", r)
	}
}

func TestInspectTopic(t *testing.T) {
	s := stack(t)
	ok(t, joinLine+"\n"+postLine("m1", "secret text")+"\n"+readLine, "emit", "--brokers", s.Broker)
	out := ok(t, "", "inspect", "topic", "chat.messages", "--brokers", s.Broker, "--records", "5")
	for _, want := range []string{"4 partitions, 2 offsets", "members_joined", "channel general, 2 users", "message_posted", "message m1, sender bob"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if strings.Contains(out, "secret") {
		t.Errorf("the text of a message is shown:\n%s", out)
	}
	p := events.PartitionOf([]byte("general"), 4)
	out = ok(t, "", "inspect", "topic", "chat.reads", "--brokers", s.Broker, "--partition", fmt.Sprint(p), "--offset", "0", "--records", "1", "--json")
	var part inspect.PartitionInfo
	var record inspect.RecordInfo
	if l := lines(out); len(l) != 2 || json.Unmarshal([]byte(l[0]), &part) != nil || json.Unmarshal([]byte(l[1]), &record) != nil ||
		part.Partition != p || part.End != 1 || record.Kind != "read_up_to" || record.What != "channel general, user ann, message m1" {
		t.Errorf("--json:\n%s", out)
	}
	for _, args := range [][]string{{"nowhere"}, {"chat.reads", "--partition", "9"}} {
		if r := tidemark(t, "", append([]string{"inspect", "topic", "--brokers", s.Broker}, args...)...); r.code == exitDone || r.errout == "" {
			t.Errorf("%v: %+v", args, r)
		}
	}
	// The outputs are decoded, too.
	eventually(t, "user ann, channel general, unread 0", "inspect", "topic", "tidemark.unread", "--brokers", s.Broker, "--records", "5")
	eventually(t, "channel general, head 1 (pos 1), 2 members", "inspect", "topic", "tidemark.channels", "--brokers", s.Broker, "--records", "5")
}

// produce writes a raw record.
func produce(t *testing.T, broker string, r *kgo.Record) {
	t.Helper()
	cl := testkit.Client(t, []string{broker}, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := cl.ProduceSync(ctx, r).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func TestDeadLetters(t *testing.T) {
	s := stack(t)
	list := func(args ...string) string {
		return ok(t, "", append([]string{"deadletters", "list", "--brokers", s.Broker}, args...)...)
	}
	if out := list(); out != "0 dead letters\n" {
		t.Errorf("none yet:\n%s", out)
	}
	// One that no build will read, and one that is right but was written under a wrong key.
	produce(t, s.Broker, &kgo.Record{Topic: events.TopicReads, Key: []byte("general"), Value: []byte("\xff\x1b[2Jgarbage")})
	p := events.PartitionOf([]byte("general"), 4)
	wrong := "a"
	for events.PartitionOf([]byte(wrong), 4) == p {
		wrong += "a"
	}
	produce(t, s.Broker, &kgo.Record{Topic: events.TopicMessages, Key: []byte(wrong),
		Value: []byte(`{"channel_id":"general","message_posted":{"message_id":"m9","sender_id":"bob"}}`)})

	eventually(t, "2 dead letters", "deadletters", "list", "--brokers", s.Broker)
	out := list()
	for _, want := range []string{"undecodable 1", "wrong_partition 1", fmt.Sprintf("chat.reads/%d/0", p), wrong} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("a terminal would obey a bad record: %q", out)
	}
	if out := list("--reason", "wrong_partition"); strings.Contains(out, "undecodable") || !strings.Contains(out, "1 dead letter:") {
		t.Errorf("--reason:\n%s", out)
	}
	if out := list("--topic", "chat.deliveries"); out != "0 dead letters\n" {
		t.Errorf("--topic:\n%s", out)
	}
	if out := list("--limit", "1"); !strings.Contains(out, "newest 1 are listed") {
		t.Errorf("--limit:\n%s", out)
	}
	var got []letters.Letter
	d := json.NewDecoder(bytes.NewBufferString(list("--json")))
	for d.More() {
		var l letters.Letter
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	if len(got) != 2 {
		t.Fatalf("--json: %+v", got)
	}

	replay := func(args ...string) result {
		return tidemark(t, "", append([]string{"deadletters", "replay", "--brokers", s.Broker}, args...)...)
	}
	r := replay("--dry-run")
	if r.code != exitDone || !strings.Contains(r.out, "to chat.messages with key general") ||
		!strings.Contains(r.out, "2 dead letters chosen, 1 would be written, 1 left out") || !strings.Contains(r.errout, "undecodable") {
		t.Errorf("--dry-run: %+v", r)
	}
	r = replay("--reason", "wrong_partition", "--json")
	var n deadletters.ReplayCounts
	want := deadletters.ReplayCounts{Read: 1, Replayed: 1, Reasons: map[string]deadletters.ReplayTally{"wrong_partition": {Written: 1}}}
	if err := json.Unmarshal([]byte(r.out), &n); err != nil || !reflect.DeepEqual(n, want) {
		t.Errorf("replay: %+v, %v", r, err)
	}
	after := fmt.Sprintf("chat.messages/%d/0", p)
	if out := ok(t, "", "query", "unread", "ann", "general", "--addr", s.URL, "--after", after); !strings.Contains(out, "latest          m9 (seq 1)") {
		t.Errorf("after the replay:\n%s", out)
	}
	if r := replay("--at", "99/99"); r.code != exitDone || !strings.Contains(r.out, "0 dead letters chosen") {
		t.Errorf("--at: %+v", r)
	}
}

// An event that a processor of this build would stop at is refused, with what of it is not known;
// whether or not the line states the version that it needs.
func TestEmitRefusesWhatAProcessorStopsAt(t *testing.T) {
	var p lineParser
	for _, c := range []struct{ topic, event string }{
		{events.TopicReads, `{"channel_id":"c","user_id":"u","flag_set":{"flagged":true}}`},
		{events.TopicReads, `{"channel_id":"c","user_id":"u","read_up_to":{"seq":1,"with_threads":true}}`},
		{events.TopicMessages, `{"channel_id":"c","message_posted":{"message_id":"m","sender_id":"u","hidden_from":["v"]}}`},
	} {
		var e eventsv1.ReadEvent
		record, err := p.parse(c.topic, []byte(c.event))
		switch {
		case err == nil:
			// This build folds it: then it states its version.
			if c.topic == events.TopicMessages {
				var m eventsv1.MessageEvent
				if err := proto.Unmarshal(record.Value, &m); err != nil || m.MinVersion != 2 {
					t.Errorf("%s: min_version %d, %v", c.event, m.MinVersion, err)
				}
			} else if err := proto.Unmarshal(record.Value, &e); err != nil || e.MinVersion != 2 {
				t.Errorf("%s: min_version %d, %v", c.event, e.MinVersion, err)
			}
		case !errors.Is(err, events.ErrNewerVersion):
			t.Errorf("%s: %v", c.event, err)
		}
	}
	if _, err := p.parse(events.TopicReads, []byte(`{"channel_id":"c","user_id":"u","min_version":3,"read_up_to":{"seq":1}}`)); !errors.Is(err, events.ErrNewerVersion) {
		t.Errorf("an event of a later version: %v", err)
	}
}
