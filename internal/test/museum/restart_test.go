package museum

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// doors are the events that all stories of testdata/restart go through together, in this order.
// Every story has a line for each.
//
//	restart   the node stops in order and starts again on its stores
//	rebuild   stores and Redis are lost, and rebuilt from the topics
//	repair    all counts in Redis are changed while the node is down; `tidemark verify` repairs each
var doors = []string{"restart", "rebuild", "repair"}

// TestRestarts runs all stories of testdata/restart at the same time, from door to door.
func TestRestarts(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env)
		list := files(t, "restart")
		h := &hallway{inside: len(list)}
		h.passed = sync.NewCond(&h.mu)
		var all sync.WaitGroup
		for _, file := range list {
			all.Go(func() {
				t.Run(name("restart", file), func(t *testing.T) {
					defer h.leave(s)
					datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
						return h.tell(newTale(t, s, name("restart", file), d), d.Input)
					})
				})
			})
		}
		all.Wait()
		if !t.Failed() {
			s.audit(t)
		}
	})
}

// hallway makes stories wait for each other before each door.
type hallway struct {
	mu              sync.Mutex
	passed          *sync.Cond
	inside, waiting int
	door            int  // index of the next one
	broken          bool // the last door failed, so there is no node behind it
}

// tell runs a story from door to door.
func (h *hallway) tell(l *tale, story string) string {
	var out, lines []string
	door := 0
	for line := range strings.Lines(story) {
		line = strings.TrimSpace(line)
		if door < len(doors) && line == doors[door] {
			out = append(out, l.tell(lines)...)
			lines = nil
			if !h.wait(l.site, door) {
				l.t.Fatalf("%s: there is nothing behind %q", l.name, line)
			}
			door++
			continue
		}
		lines = append(lines, line)
	}
	out = append(out, l.tell(lines)...)
	if door != len(doors) {
		l.t.Fatalf("%s goes through %d doors, not through %q", l.name, door, doors)
	}
	return strings.Join(out, "\n")
}

// wait returns once all stories have reached the door and its event has happened. It reports
// whether a node runs behind the door.
func (h *hallway) wait(s *site, door int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting++
	h.open(s)
	for h.door <= door {
		h.passed.Wait()
	}
	return !h.broken
}

// leave ends a story, even one that failed, so that the others do not wait for it.
func (h *hallway) leave(s *site) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inside--
	h.open(s)
}

func (h *hallway) open(s *site) {
	if h.waiting == 0 || h.waiting < h.inside {
		return
	}
	switch doors[h.door] {
	case "restart":
		s.stop()
	case "rebuild":
		s.stop()
		s.lose()
	case "repair":
		s.audit(s.t) // Redis has everything that was published
		s.stop()
		s.spoilAndRepair()
	}
	if err := s.start(); err != nil {
		s.t.Errorf("after %q: %v", doors[h.door], err)
		h.broken = true
	}
	h.waiting = 0
	h.door++
	h.passed.Broadcast()
}

var counted = regexp.MustCompile(`"unread":\d+`)

// spoilAndRepair writes wrong counts into all inboxes while no cache role fills Redis, and lets
// verify find and repair them.
func (s *site) spoilAndRepair() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	spoiled := 0
	keys := s.rdb.Scan(ctx, 0, "inbox:*", 1000).Iterator()
	for keys.Next(ctx) {
		for channel, value := range s.rdb.HGetAll(ctx, keys.Val()).Val() {
			wrong := counted.ReplaceAllString(value, `"unread":4242`)
			if wrong == value {
				continue
			}
			spoiled++
			if err := s.rdb.HSet(ctx, keys.Val(), channel, wrong).Err(); err != nil {
				s.t.Error(err)
			}
		}
	}
	if err := keys.Err(); err != nil || spoiled == 0 {
		s.t.Errorf("%d counts were spoiled: %v", spoiled, err)
	}
	res, err := rebuild.Verify(ctx, rebuild.Config{
		Brokers: s.env.Brokers, ClientOptions: testkit.FastClientOpts(), Topics: s.topics, DataDir: s.dir, Redis: s.rdb, Repair: true,
		Limit: 1000,
	})
	if err != nil {
		s.t.Errorf("verify: %v", err)
		return
	}
	if res.Total != spoiled {
		s.t.Errorf("verify finds %d differences of %d: %v", res.Total, spoiled, res.Differences)
	}
	for _, d := range res.Differences {
		if d.Where != "redis" || d.Is != "4242" {
			s.t.Errorf("verify finds: %v", d)
		}
	}
}
