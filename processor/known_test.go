package processor

import (
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// A failed partition may have data of the users that it had when it was last live. Its owner
// returns it for them as long as it owns the partition, also after a restart at which the partition
// fails again. No other node does.
func TestAFailedPartitionKnowsItsUsers(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 2)
		dir := t.TempDir()
		m := s.start(s.config(dir)).ready(2)
		own := events.PartitionOf([]byte("general"), 2)
		last := s.join("general", "alice", "bob")
		if got := m.unread(last, "bob", "general"); got != 0 {
			t.Errorf("bob has %d unread", got)
		}
		fails := func(when string) {
			t.Helper()
			until(t, "the partition fails and knows who is there", func() bool {
				_, err := m.Live(own)
				return err != nil && !m.MayHold(own, projections.UserHash("nobody"))
			})
			for user, want := range map[string]bool{"alice": true, "bob": true, "nobody": false} {
				if got := m.MayHold(own, projections.UserHash(user)); got != want {
					t.Errorf("%s it may hold something of %s: %v, want %v", when, user, got, want)
				}
			}
			if _, err := m.Live(1 - own); err != nil {
				t.Errorf("%s the other partition fails: %v", when, err)
			}
		}
		s.raw(events.Messages, own, []byte("general"), []byte(`{"channel_id":"general","min_version":99,"members_joined":{"user_ids":["nobody"]}}`))
		fails("at first")
		m.stop()
		m = s.start(s.config(dir))
		fails("after a restart")
		other := s.start(s.config(t.TempDir())) // it never answered for the partition
		if !other.MayHold(own, projections.UserHash("nobody")) {
			t.Error("a node that was never asked about the partition knows better")
		}
		other.stop()
		m.stop()
	})
}

// Arrivals report each partition in which something changes for a user. They end when one of the
// node's partitions goes away.
func TestArrivalsOfANode(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 4)
		m := s.start(s.config(t.TempDir())).ready(4)
		a := m.Arrivals("bob")
		defer a.Stop()
		for _, channel := range []string{"general", "random"} {
			own := events.PartitionOf([]byte(channel), 4)
			s.join(channel, "alice", "bob")
			until(t, "the partition is told", func() bool {
				select {
				case _, open := <-a.Signal():
					if !open {
						t.Fatal("the arrivals end")
					}
				default:
					return false
				}
				ps := a.Partitions()
				return len(ps) == 1 && ps[0] == own
			})
			a.Follow(own)
		}
		m.stop()
		until(t, "the arrivals end", func() bool {
			select {
			case _, open := <-a.Signal():
				return !open
			default:
				return false
			}
		})
	})
}
