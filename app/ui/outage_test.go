package ui_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/events"
)

// allShow waits until all three devices, online or connecting, show what is wrong, and until screen
// readers announce it. It checks the contrast, light and dark.
func (b *browser) allShow(what, state, why string) {
	b.t.Helper()
	b.until(what, fmt.Sprintf(`[...document.querySelectorAll('.device.%s .away-why')].filter((e) => e.textContent.includes(%q)).length === 3`, state, why))
	b.until("a screen reader is told", fmt.Sprintf(`document.querySelector('[role=status][aria-live=polite]').textContent.includes(%q)`, why))
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		if bad := eval[string](b, contrast); bad != "" {
			b.t.Errorf("%s, %s:\n%s", what, scheme, bad)
		}
		b.shot("away-" + state + "-" + scheme)
	}
}

// TestThePageSaysWhyItIsNotConnected: first a partition stops, which connected devices learn from
// the page alone. Then no inbox can be read. Then the node is away.
// TestTheNodeIsRestartedUnderThePage checks that devices reconnect.
func TestThePageSaysWhyItIsNotConnected(t *testing.T) {
	s, b := town(t, dev.Config{DataDir: t.TempDir()})
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.stack.Broker), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	newer := []byte(`{"channel_id":"general","min_version":99,"message_posted":{"message_id":"new","sender_id":"bob"}}`)
	record := &kgo.Record{Topic: events.TopicMessages, Partition: events.PartitionOf([]byte("general"), 4), Key: []byte("general"), Value: newer}
	if err := cl.ProduceSync(context.Background(), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for stopped, until := false, time.Now().Add(patience); !stopped; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(s.url + "/readyz") //nolint:noctx // a test's own server
		if err != nil || time.Now().After(until) {
			t.Fatalf("the partition goes on (%v)", err)
		}
		res.Body.Close()
		stopped = res.StatusCode == http.StatusServiceUnavailable
	}
	b.allShow("each device, connected still, says that numbers may be old", "online", "may be old")
	b.until("and what the node says of it", `document.querySelector('.away-says').textContent.includes('needs version 99')`)
	eval[bool](b, `window.tidemark.devices.forEach((d) => { d.client.close(); d.client.connect(); }) ?? true`)
	b.allShow("each device says that its inbox cannot be read", "connecting", "inbox cannot be read")
	b.until("and what the node says of it", `document.querySelector('.away-says').textContent.includes('needs version 99')`)
	s.stop()
	b.allShow("each device says that the node does not answer", "connecting", "does not answer")
}
