package demo

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/traffic"
)

// play runs a scenario for a number of steps.
func play(s *Scenario, steps int) []proto.Message {
	all := s.Setup()
	for range steps {
		all = append(all, s.Next().Events...)
	}
	return all
}

func TestEveryEventIsGood(t *testing.T) {
	for seed := range uint64(5) {
		var (
			d     events.Decoder
			m     events.Message
			r     events.Read
			kinds = map[events.Kind]int{}
		)
		for i, e := range play(New(seed, "run"), 5000) {
			rec, err := traffic.Record(e, events.Input.String)
			if err != nil {
				t.Fatal(err)
			}
			var channel string
			if rec.Topic == events.TopicMessages {
				err = d.Message(rec.Value, 1, &m)
				channel = string(m.ChannelID)
				kinds[m.Kind]++
			} else {
				err = d.Read(rec.Value, 1, &r)
				channel = string(r.ChannelID)
				kinds[r.Kind]++
			}
			if err != nil {
				t.Fatalf("seed %d, event %d: %v", seed, i, err)
			}
			if channel != string(rec.Key) {
				t.Fatalf("seed %d, event %d: channel %q is keyed %q", seed, i, channel, rec.Key)
			}
		}
		for _, want := range []events.Kind{
			events.KindMembersJoined, events.KindMessagePosted, events.KindMessageEdited, events.KindMessageDeleted,
			events.KindReadUpTo, events.KindMessagesRead, events.KindMarkedUnread, events.KindChannelMuted,
		} {
			if kinds[want] == 0 {
				t.Errorf("seed %d: no %v in 5,000 steps", seed, want)
			}
		}
	}
}

func TestSameSeedSameStory(t *testing.T) {
	a, b, other := play(New(7, "r"), 500), play(New(7, "r"), 500), play(New(8, "r"), 500)
	same := func(x, y []proto.Message) bool {
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if !proto.Equal(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	if !same(a, b) {
		t.Error("two runs with one seed differ")
	}
	if same(a, other) {
		t.Error("two seeds tell the same story")
	}
}

func TestRunsDoNotShareMessageIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, run := range []string{"one", "two"} {
		s := New(1, run)
		play(s, 300)
		for _, r := range s.channels {
			for _, p := range r.recent {
				if seen[p.id] {
					t.Fatalf("message id %s is used by two runs", p.id)
				}
				seen[p.id] = true
			}
		}
	}
}

func TestTheCastIsWhatTheDemoPromises(t *testing.T) {
	var large, direct int
	for _, r := range channels() {
		if len(r.members) > 50 {
			large++
		}
		if r.direct && len(r.members) == 2 {
			direct++
		}
		seen := map[string]bool{}
		for _, m := range r.members {
			if seen[m] {
				t.Errorf("%s has %s twice", r.id, m)
			}
			seen[m] = true
		}
	}
	if large == 0 || direct == 0 {
		t.Errorf("%d large channels and %d direct ones, want some of each", large, direct)
	}
}

// Active users read now and then, so that the counts of the demo also fall.
func TestBacklogsStayBounded(t *testing.T) {
	s := New(1, "r")
	play(s, 20_000)
	for _, r := range s.channels {
		for _, who := range people {
			if behind := r.posts - r.read[who]; len(r.members) <= len(people) && member(r, who) && behind > 500 {
				t.Errorf("%s is %d messages behind in %s", who, behind, r.id)
			}
		}
	}
}

func member(r *channelState, who string) bool {
	for _, m := range r.members {
		if m == who {
			return true
		}
	}
	return false
}

func TestWhoIsAwayDoesNothing(t *testing.T) {
	s := New(3, "run")
	s.Setup()
	away := map[string]bool{"ann": true, "bob": true}
	s.SetAway([]string{"ann", "bob"})
	others := 0
	for range 2000 {
		for _, e := range s.Next().Events {
			var who string
			switch v := e.(type) {
			case *eventsv1.MessageEvent:
				who = v.GetMessagePosted().GetSenderId()
			case *eventsv1.ReadEvent:
				who = v.GetUserId()
			}
			if away[who] {
				t.Fatalf("%s is away and does %v", who, e)
			}
			if who != "" {
				others++
			}
		}
	}
	if others < 500 {
		t.Errorf("the others did %d things", others)
	}
	s.SetAway(people)
	for range 50 {
		for _, e := range s.Next().Events {
			if m, ok := e.(*eventsv1.MessageEvent); ok && m.GetMessagePosted() != nil && !m.GetMessagePosted().GetSilent() {
				t.Fatal("everybody is away and somebody posts")
			}
		}
	}
}
