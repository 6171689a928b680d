package deadletters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/processor"
)

// office is a broker with the topics, and the output of the verbs.
type office struct {
	flags          letterFlags
	app            *verbs.App
	stdout, stderr bytes.Buffer
	client         *kgo.Client
	read           int64 // offset of the next record in the dead letters
}

func openOffice(t *testing.T) *office {
	t.Helper()
	o := &office{}
	o.flags.Brokers = testkit.FakeKafka(t).ListenAddrs()
	o.app = &verbs.App{Ctx: t.Context(), Stdin: &bytes.Buffer{}, Stdout: &o.stdout, Stderr: &o.stderr}
	var err error
	if o.client, err = kgo.NewClient(append(testkit.FastClientOpts(), kgo.SeedBrokers(o.flags.Brokers...))...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.client.Close)
	for _, topic := range append(events.InputTopics[:], events.TopicDeadLetters) {
		if _, err := kadm.NewClient(o.client).CreateTopic(t.Context(), 1, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// letter writes a dead letter.
func (o *office) letter(t *testing.T, topic, reason string, written time.Time, value []byte) {
	t.Helper()
	r := &kgo.Record{Topic: events.TopicDeadLetters, Key: []byte("wrong key"), Value: value, Timestamp: written}
	for _, h := range [][2]string{
		{processor.HeaderTopic, topic}, {processor.HeaderPartition, "3"}, {processor.HeaderOffset, fmt.Sprint(100 + o.read)},
		{processor.HeaderReason, reason}, {processor.HeaderDetail, "bad event: what is wrong"}, {processor.HeaderTimestamp, "1790000000123"},
	} {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h[0], Value: []byte(h[1])})
	}
	if err := o.client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
	o.read++
}

// good returns an event that this build accepts.
func good(t *testing.T) []byte {
	t.Helper()
	b, err := proto.Marshal(traffic.Message("town", &eventsv1.MessagePosted{MessageId: "m1", SenderId: "ann"}))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// list lists the newest letters, oldest first, and counts all that were chosen.
func TestList(t *testing.T) {
	o := openOffice(t)
	now := time.Now().Truncate(time.Millisecond)
	o.letter(t, events.TopicMessages, "undecodable", now.Add(-time.Minute), []byte("\xff"))
	o.letter(t, events.TopicReads, "no_target", now.Add(-2*time.Minute), []byte("x"))
	o.letter(t, events.TopicReads, "undecodable", now.Add(-48*time.Hour), []byte("abc"))

	run := func(c listCmd) string {
		t.Helper()
		o.stdout.Reset()
		if c.Limit == 0 {
			c.Limit = 100
		}
		c.BrokersFlags = o.flags.BrokersFlags
		if err := c.Run(o.app); err != nil {
			t.Fatal(err)
		}
		return o.stdout.String()
	}
	lines := strings.Split(strings.TrimSpace(run(listCmd{})), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[1], "0/2 ") || !strings.HasPrefix(lines[2], "0/1 ") || !strings.HasPrefix(lines[3], "0/0 ") ||
		lines[4] != "3 dead letters: no_target 1, undecodable 2" || !strings.Contains(lines[3], "  TM103  undecodable  chat.messages/3/100") || !strings.Contains(lines[3], "what is wrong") {
		t.Errorf("the list is\n%s", strings.Join(lines, "\n"))
	}
	for want, c := range map[string]listCmd{
		"3 dead letters: no_target 1, undecodable 2 (the newest 1 are listed; --limit)": {Limit: 1},
		"2 dead letters: undecodable 2":              {letterFlags: letterFlags{Reason: []string{"undecodable"}}},
		"1 dead letter: undecodable 1":               {letterFlags: letterFlags{Topic: []string{events.TopicReads}, Reason: []string{"undecodable"}}},
		"2 dead letters: no_target 1, undecodable 1": {letterFlags: letterFlags{Since: time.Hour}},
		"1 dead letter: no_target 1":                 {letterFlags: letterFlags{At: []string{"0/1"}}},
		"0 dead letters":                             {letterFlags: letterFlags{At: []string{"1/1"}}},
	} {
		if out := strings.TrimSpace(run(c)); !strings.HasSuffix(out, want) {
			t.Errorf("%q, want %q at its end", out, want)
		}
	}
	c := listCmd{Limit: 1}
	c.JSON = true
	dec := json.NewDecoder(strings.NewReader(run(c)))
	for i := range 3 {
		var l letters.Letter
		if err := dec.Decode(&l); err != nil || l.Code != []string{"TM103", "TM106", "TM103"}[i] || l.Offset != int64(i) || l.From != fmt.Sprintf("3/%d", 100+i) {
			t.Errorf("letter %d is %+v, %v", i, l, err)
		}
	}
}

func TestNewest(t *testing.T) {
	at := func(seconds ...int64) (list []letters.Letter) {
		for _, s := range seconds {
			list = append(list, letters.Letter{Written: time.Unix(s, 0)})
		}
		return list
	}
	got := newest(at(5, 1, 9, 3), 2)
	if len(got) != 2 || got[0].Written.Unix() != 5 || got[1].Written.Unix() != 9 {
		t.Errorf("%v", got)
	}
	if got := newest(at(1), 5); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// replay writes the letters that this build accepts, with the channel as the key and the time of
// the event. It skips and counts the others, and with --dry-run it writes nothing.
func TestReplay(t *testing.T) {
	o := openOffice(t)
	now := time.Now()
	o.letter(t, events.TopicMessages, "wrong_key", now, good(t))
	o.letter(t, events.TopicMessages, "undecodable", now, []byte("\xff"))
	o.letter(t, "elsewhere", "undecodable", now, good(t))

	run := func(c replayCmd) (n ReplayCounts) {
		t.Helper()
		o.stdout.Reset()
		o.stderr.Reset()
		c.BrokersFlags, c.JSON = o.flags.BrokersFlags, true
		if err := c.Run(o.app); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(o.stdout.Bytes(), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	ends := func() int64 {
		t.Helper()
		ends, err := kadm.NewClient(o.client).ListEndOffsets(t.Context(), events.TopicMessages)
		if err != nil {
			t.Fatal(err)
		}
		end, _ := ends.Lookup(events.TopicMessages, 0)
		return end.Offset
	}
	if n := run(replayCmd{DryRun: true}); n.Read != 3 || n.Replayed != 1 || n.Bad != 2 || n.Failed != 0 || ends() != 0 {
		t.Errorf("dry: %+v, %d records", n, ends())
	}
	n := run(replayCmd{})
	if n.Read != 3 || n.Replayed != 1 || n.Bad != 2 || n.Reasons["wrong_key"].Written != 1 || n.Reasons["undecodable"].LeftOut != 2 || ends() != 1 {
		t.Errorf("%+v, %d records", n, ends())
	}
	if message := o.stderr.String(); strings.Count(message, "left out ") != 2 || !strings.Contains(message, `"elsewhere"`) {
		t.Errorf("stderr is %q", message)
	}
	if n := run(replayCmd{Force: true, letterFlags: letterFlags{At: []string{"0/1"}}}); n.Read != 1 || n.Replayed != 1 || ends() != 2 {
		t.Errorf("forced: %+v, %d records", n, ends())
	}

	o.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{events.TopicMessages: {0: kgo.NewOffset().At(0)}})
	var got []*kgo.Record
	for len(got) < 2 {
		got = append(got, o.client.PollFetches(t.Context()).Records()...)
	}
	r := got[0]
	if string(r.Key) != "town" || !bytes.Equal(r.Value, good(t)) || r.Timestamp.UnixMilli() != 1790000000123 || len(r.Headers) != 0 {
		t.Errorf("the record is %+v", r)
	}
	if r = got[1]; string(r.Key) != "wrong key" || string(r.Value) != "\xff" {
		t.Errorf("the forced record is %+v", r)
	}
}

// The summary as text has the results by reason.
func TestReplaySummary(t *testing.T) {
	o := openOffice(t)
	o.letter(t, events.TopicMessages, "wrong_key", time.Now(), good(t))
	c := replayCmd{DryRun: true}
	c.BrokersFlags = o.flags.BrokersFlags
	if err := c.Run(o.app); err != nil {
		t.Fatal(err)
	}
	out := o.stdout.String()
	for _, want := range []string{
		"would write 0/0 (wrong_key) to chat.messages with key town\n", "1 dead letter chosen, 1 would be written, 0 left out", "REASON", "wrong_key        1",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}
