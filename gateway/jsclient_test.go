package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// manyCommands is a program of Node. Two devices of one user have 600 commands each before they
// connect; the last commands unmute each channel. The program prints the results, and the tokens of
// the last commands.
const manyCommands = `
const { TidemarkClient } = await import(process.argv[2]);
let answered = 0, refused = 0, lost = 0;
const why = new Set();
const after = [];
const device = (n) => {
  const c = new TidemarkClient({ url: process.argv[3], userId: 'ann', page: null });
  c.on('error', (f) => { refused++; why.add(f.message); });
  c.on('disconnected', (f) => { lost++; why.add(f.code + ' ' + f.reason); });
  const all = [];
  for (let i = 0; i < 600; i++) all.push(c.mute('c' + (i + n) % 7, i < 593));
  c.connect();
  return Promise.allSettled(all).then((list) => {
    for (const r of list) r.status === 'fulfilled' ? answered++ : why.add(r.reason.message);
    for (const r of list.slice(-7)) after.push(...r.value?.after ?? []);
    c.close();
  });
};
await Promise.all([device(0), device(3)]);
console.log(JSON.stringify({ answered, refused, lost, after, why: [...why] }));
`

// marksAllRead is a program of Node. A device marks everything as read once it has its inbox, and
// prints the tokens of the events.
const marksAllRead = `
const { TidemarkClient } = await import(process.argv[2]);
const c = new TidemarkClient({ url: process.argv[3], userId: 'ann', page: null });
c.connect();
await new Promise((done) => { c.on('inbox', done); });
const answers = await c.markAllRead({ threads: true });
console.log(JSON.stringify(answers.flatMap((a) => a.after)));
c.close();
`

// TestTheJavaScriptClientMarksAllRead: two users have the same unread channels. A device marks
// everything as read for one, and MarkAllRead for the other. Both write an event for the same
// channels with the same epoch, and afterwards neither user has anything unread.
func TestTheJavaScriptClientMarksAllRead(t *testing.T) {
	s := start(t, dev.Config{Partitions: 1})
	var list []string
	channels := []string{"plain", "seeded", "seeded-and-more", "flagged", "bare", "marked", "muted", "filed", "silent", "threads", "done"}
	for _, c := range channels {
		if strings.HasPrefix(c, "seeded") {
			list = append(list, fmt.Sprintf(`{"message":{"channel_id":%q,"members_joined":{"user_ids":["ann","ben"],"count_history":true}}}`, c),
				fmt.Sprintf(`{"message":{"channel_id":%q,"messages_seeded":{"count":9}}}`, c))
		} else {
			list = append(list, joined(c, "ann", "ben", "bob"))
		}
		if c != "bare" && c != "seeded" {
			list = append(list, posted(c, "m1", "bob"), posted(c, "m2", "bob"))
		}
	}
	list = append(list,
		`{"message":{"channel_id":"silent","message_posted":{"message_id":"m3","silent":true}}}`,
		`{"message":{"channel_id":"threads","message_posted":{"message_id":"r1","sender_id":"bob","thread_id":"m1","mentions":["ann","ben"]}}}`)
	for _, u := range []string{"ann", "ben"} {
		shows := func(channel, what string) {
			list = append(list, fmt.Sprintf(`{"read":{"channel_id":%q,"user_id":%q,%s}}`, channel, u, what))
		}
		for _, c := range []string{"flagged", "threads", "done"} {
			shows(c, `"read_up_to":{"message_id":"m2"}`)
		}
		shows("flagged", `"flag_set":{"flagged":true,"head_seq":2}`)
		shows("bare", `"flag_set":{"flagged":true}`)
		shows("marked", `"read_up_to":{"message_id":"m2"}`)
		shows("marked", `"marked_unread":{"message_id":"m2","head_seq":2}`)
		shows("muted", `"channel_muted":{"muted":true}`)
		shows("filed", `"channel_filed":{"archived":true,"keep":true,"head_seq":2}`)
		shows("silent", `"read_up_to":{"message_id":"m3"}`)
		shows("silent", `"flag_set":{"flagged":true,"head_seq":3}`)
		shows("seeded", `"notify_set":{"level":"MENTIONS"}`)
	}
	after := events.LatestTokens(emit(t, s.URL, list...))

	cl := queryv1connect.NewQueryServiceClient(http.DefaultClient, s.URL)
	inboxOf := func(user string, after []string) *queryv1.GetInboxResponse {
		t.Helper()
		res, err := cl.GetInbox(within(t), connect.NewRequest(&queryv1.GetInboxRequest{UserId: user, Archived: "all", After: after}))
		if err != nil {
			t.Fatal(err)
		}
		res.Msg.AsOf, res.Msg.EvaluatedAt = nil, nil
		for _, c := range res.Msg.Channels {
			c.OfflineUnread = 0 // reports about absent users may come at any time
			if c.LastRead != nil {
				c.LastRead.At = nil
			}
		}
		return res.Msg
	}
	was := inboxOf("ann", after)
	if before := inboxOf("ben", after); !proto.Equal(before, was) || len(was.Channels) != len(channels) || was.Totals.ThreadUnread != 1 {
		t.Fatalf("one has\n%v\nand the other\n%v", was, before)
	}

	var written []string
	if err := json.Unmarshal(runInNode(t, marksAllRead, s.URL+"/v1/socket"), &written); err != nil {
		t.Fatal(err)
	}
	res, err := ingestv1connect.NewIngestServiceClient(http.DefaultClient, s.URL).MarkAllRead(within(t), connect.NewRequest(&ingestv1.MarkAllReadRequest{UserId: "ben", Threads: true}))
	if err != nil {
		t.Fatal(err)
	}
	ann, ben := inboxOf("ann", events.LatestTokens(written)), inboxOf("ben", res.Msg.After)
	if !proto.Equal(ann, ben) || ann.Totals.UnreadChannels != 0 || ann.Totals.ThreadUnread != 0 || ann.Totals.Badge != 0 || ann.Totals.Flagged != 0 {
		t.Errorf("after the device's reads\n%v\nafter those of the node\n%v", ann, ben)
	}

	reads := map[string]map[string]string{"ann": {}, "ben": {}}
	consumer := testkit.Client(t, []string{s.Broker}, kgo.ConsumeTopics(events.TopicReads), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	var d events.Decoder
	from := int64(0) // the last record before
	for _, token := range after {
		if id, err := events.ParseRecordID(token); err == nil && id.Topic == events.TopicReads {
			from = id.Offset
		}
	}
	for n := 0; n < 2*int(res.Msg.Channels); {
		fetches := consumer.PollFetches(within(t))
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			var e events.Read
			if err := d.Read(r.Value, r.Timestamp.UnixMilli(), &e); err != nil {
				t.Fatal(err)
			}
			if r.Offset > from {
				n++
				reads[string(e.UserID)][string(e.ChannelID)] = fmt.Sprintf("%v, epoch %d, with threads %v, private %v", e.Kind, e.ReadEpoch, e.WithThreads, e.Private)
			}
		})
	}
	if !maps.Equal(reads["ann"], reads["ben"]) || len(reads["ann"]) != len(channels)-1 {
		t.Errorf("the device wrote\n%v\nand the node\n%v", reads["ann"], reads["ben"])
	}
}

// runInNode runs a program with the client's module and another argument, and returns its output.
func runInNode(t *testing.T, program string, arg string) []byte {
	t.Helper()
	node := testkit.Program(t, "node")
	module, err := filepath.Abs("../clients/js/src/index.js")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "program.mjs")
	if err := os.WriteFile(script, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "--experimental-websocket", "--no-warnings", script, module, arg) //nolint:gosec // the program is Node
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

// TestTheJavaScriptClientStaysWithinTheLimits: a device comes back with more frames than the
// gateway takes at once, and all of them take effect. Two devices of one user share the user's
// limit, so the gateway may refuse some frames first.
func TestTheJavaScriptClientStaysWithinTheLimits(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{FramesPerSecond: 1000}}})
	channels := []string{"c0", "c1", "c2", "c3", "c4", "c5", "c6"}
	for _, c := range channels {
		folded(t, s.URL, "ann", c, joined(c, "ann"))
	}
	out := runInNode(t, manyCommands, s.URL+"/v1/socket")
	var got struct {
		Answered, Refused, Lost int
		After, Why              []string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if got.Answered != 1200 || got.Lost != 0 || len(got.After) != 14 {
		t.Fatalf("%s", out)
	}
	t.Logf("%d refusals on the way", got.Refused)
	for _, c := range channels {
		req := connect.NewRequest(&queryv1.GetUnreadRequest{UserId: "ann", ChannelId: c, After: events.LatestTokens(got.After)})
		if res, err := queryv1connect.NewQueryServiceClient(http.DefaultClient, s.URL).GetUnread(within(t), req); err != nil || res.Msg.Muted {
			t.Errorf("%s: %v, %v", c, res, err)
		}
	}
}
