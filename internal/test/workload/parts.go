package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/script/random"
)

// Parts makes events and fields of some parts of DESIGN §4.7.
type Parts struct {
	parts  []random.Part
	bodies []random.Part // the parts that have their own events
}

// NewParts returns the Parts for these parts.
func NewParts(parts []random.Part) Parts {
	s := Parts{parts: parts}
	for _, p := range parts {
		if p != random.HiddenFrom && p != random.MarksRead && p != random.WithThreads {
			s.bodies = append(s.bodies, p)
		}
	}
	return s
}

// Nothing reports whether it has no parts.
func (s Parts) Nothing() bool { return len(s.parts) == 0 }

func (s Parts) has(p random.Part) bool { return slices.Contains(s.parts, p) }

// Body returns the body of an event about a channel with this many messages, the first of which is
// m0. It returns nil if no part has its own events. A ChannelUpdated belongs to chat.messages, all
// others to chat.reads.
func (s Parts) Body(r *rand.Rand, posted int, now time.Time) proto.Message {
	if len(s.bodies) == 0 {
		return nil
	}
	recent := func() int { return max(0, posted+2-r.IntN(20)) }
	head := func() uint32 { // 0, or near the head
		if r.IntN(2) == 0 {
			return 0
		}
		return uint32(recent())
	}
	ids := func(least int) (out []string) {
		for range least + r.IntN(3) {
			out = append(out, name(recent()))
		}
		return out
	}
	labels := func() (out []string) {
		for range r.IntN(3) {
			out = append(out, []string{"work", "home", "team"}[r.IntN(3)])
		}
		return out
	}
	switch s.bodies[r.IntN(len(s.bodies))] {
	case random.Levels:
		e := &eventsv1.NotifySet{Level: eventsv1.NotifySet_Level(r.IntN(3))}
		if r.IntN(2) == 0 {
			e.Until = timestamppb.New(now.Add(time.Duration(r.IntN(120)-60) * time.Second))
		}
		if r.IntN(3) == 0 {
			e.IgnoreMentionAll = proto.Bool(r.IntN(2) == 0)
		}
		return e
	case random.Flags:
		return &eventsv1.FlagSet{Flagged: r.IntN(4) > 0, HeadSeq: head()}
	case random.Filed:
		return &eventsv1.ChannelFiled{Archived: r.IntN(4) > 0, Keep: r.IntN(4) == 0, HeadSeq: head()}
	case random.Hidden:
		if r.IntN(4) == 0 {
			return &eventsv1.MessagesHidden{UpToSeq: uint32(1 + recent()), MessageIds: ids(0)}
		}
		return &eventsv1.MessagesHidden{MessageIds: ids(1)}
	case random.Lines:
		if r.IntN(2) == 0 {
			return &eventsv1.LineSet{Target: &eventsv1.LineSet_Seq{Seq: uint32(1 + recent())}}
		}
		return &eventsv1.LineSet{Target: &eventsv1.LineSet_MessageId{MessageId: name(recent())}}
	case random.Viewed:
		return &eventsv1.MessagesViewed{MessageIds: ids(1)}
	case random.Labels:
		return &eventsv1.LabelsSet{Labels: labels()}
	default:
		return &eventsv1.ChannelUpdated{Labels: labels(), Archived: r.IntN(3) == 0}
	}
}

// Post adds hidden_from and marks_read to a post.
func (s Parts) Post(r *rand.Rand, e *eventsv1.MessagePosted, user string) {
	if s.has(random.HiddenFrom) && r.IntN(8) == 0 {
		e.HiddenFrom = []string{user} // sometimes its sender
	}
	if s.has(random.MarksRead) && r.IntN(4) == 0 {
		e.MarksRead = proto.Bool(r.IntN(2) == 0)
	}
}

// Read adds with_threads to a read of a channel.
func (s Parts) Read(r *rand.Rand, e *eventsv1.ReadUpTo) {
	if s.has(random.WithThreads) && r.IntN(4) == 0 && e.ThreadId == "" {
		e.WithThreads = true
	}
}

// name is the id of a room's message.
func name(message int) string { return fmt.Sprintf("m%d", message) }
