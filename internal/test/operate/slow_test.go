package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Brokers that take six seconds to write a record make badges late, and the frames of sockets.
func TestSlowBrokersFireTheirAlerts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	testkit.Program(t, "promtool")
	s := newSite(t, 1)
	var slow atomic.Bool
	unread := s.topics.Name(events.TopicUnread)
	id := s.kafka.TopicInfo(unread).TopicID
	s.kafka.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.kafka.KeepControl()
		p, ok := r.(*kmsg.ProduceRequest)
		if ok && slow.Load() && slices.ContainsFunc(p.Topics, func(t kmsg.ProduceRequestTopic) bool { return t.Topic == unread || t.TopicID == id }) {
			s.kafka.SleepControl(func() { time.Sleep(6 * time.Second) })
		}
		return nil, nil, false
	})
	url, stop := s.start("redis://"+testkit.Miniredis(t).Addr(), func(c *node.Config) {
		c.Kafka.Options = append(testkit.FastClientOpts(), kgo.RequestTimeoutOverhead(30*time.Second))
	}, config.RoleProcessor, config.RoleQuery, config.RoleGateway)
	defer stop()
	s.ready(url)
	s.send(events.TopicMessages, "team", `{"channel_id":"team","members_joined":{"user_ids":["ann","bob"]}}`, time.Now())
	ws, res, err := websocket.Dial(s.within(), url+"/v1/socket?user_id=bob", nil) //nolint:bodyclose // Dial sees to it
	if err != nil {
		t.Fatal(err, res)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, _, err := ws.Read(context.Background()); err != nil {
				return
			}
		}
	}()
	defer func() { <-done }()
	defer func() { _ = ws.CloseNow() }() // so that the reader ends
	say := func(n int) {
		s.send(events.TopicMessages, "team", fmt.Sprintf(`{"channel_id":"team","message_posted":{"message_id":"m%d","sender_id":"ann"}}`, n), time.Now())
	}
	series := func() map[string]float64 {
		all := s.series(url)
		// On a busy machine calls of Redis time out, which has an alert of its own.
		maps.DeleteFunc(all, func(name string, _ float64) bool { return strings.HasPrefix(name, "tidemark_redis_errors_total{") })
		return all
	}
	say(0)
	var fine map[string]float64
	s.until(func() error {
		if fine = series(); fine["tidemark_gateway_delta_age_seconds_count{}"] == 0 {
			return fmt.Errorf("no frame was sent")
		}
		return nil
	})
	s.fires(fine, series())

	slow.Store(true)
	scrapes := []map[string]float64{fine}
	for i := range 15 { // one for each minute of the rules' time
		if i%3 == 0 {
			say(1 + i)
		}
		time.Sleep(2 * time.Second)
		scrapes = append(scrapes, series())
	}
	slow.Store(false)
	s.firesOver(scrapes, "TidemarkBadgesLate", "TidemarkSocketsLate")
}
