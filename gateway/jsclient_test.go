package gateway_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/dev"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// manyCommands is a program of Node: two devices of one user have 600 commands each before they
// connect, the last of which say of each channel that it is not muted. It prints what became of
// them, and the records of the last ones.
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

// TestTheJavaScriptClientStaysWithinTheLimits: a device comes back with more frames than the
// gateway takes at once, and all of them take effect. Two devices of one user share the user's
// limit, so the gateway may refuse some frames first.
func TestTheJavaScriptClientStaysWithinTheLimits(t *testing.T) {
	node := testkit.Program(t, "node")
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{FramesPerSecond: 1000}}})
	channels := []string{"c0", "c1", "c2", "c3", "c4", "c5", "c6"}
	for _, c := range channels {
		folded(t, s.URL, "ann", c, joined(c, "ann"))
	}
	module, err := filepath.Abs("../clients/js/src/index.js")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "many.mjs")
	if err := os.WriteFile(script, []byte(manyCommands), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "--experimental-websocket", "--no-warnings", script, module, s.URL+"/v1/socket") //nolint:gosec // the program is Node
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
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
