package demo

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// act chooses an action of a person in a room and returns its events; none if the action has no
// effect.
func (s *Scenario) act(r *channelState) []proto.Message {
	switch n := s.rng.IntN(100); {
	case n < 46:
		return s.post(r)
	case n < 86:
		return s.catchUp(r)
	case n < 89:
		return s.readOne(r)
	case n < 93:
		return s.edit(r)
	case n < 95:
		return s.remove(r)
	case n < 98:
		return s.markUnread(r)
	case n < 99:
		return s.rename(r)
	default:
		return s.mute(r)
	}
}

func (s *Scenario) post(r *channelState) []proto.Message {
	sender := s.actor(r)
	if sender == "" {
		return nil
	}
	p := &eventsv1.MessagePosted{MessageId: s.newID(), SenderId: sender, Preview: lines[s.rng.IntN(len(lines))]}
	switch n := s.rng.IntN(20); {
	case n < 4:
		if whom := r.members[s.rng.IntN(min(len(r.members), len(people)))]; whom != sender {
			p.Mentions = []string{whom}
			p.Preview = "@" + whom + " " + p.Preview
		}
	case n == 4 && len(r.members) > 2:
		p.MentionAll = true
		p.Preview = "@all " + p.Preview
	}
	r.remember(post{id: p.MessageId, sender: sender})
	r.read[sender] = r.posts // posting reads
	return []proto.Message{message(r.id, p)}
}

// catchUp makes a member read to the end: the one of some random members who is furthest behind.
func (s *Scenario) catchUp(r *channelState) []proto.Message {
	if len(r.recent) == 0 {
		return nil
	}
	who := s.actor(r)
	for range 2 {
		if other := s.actor(r); who == "" || other != "" && r.read[other] < r.read[who] {
			who = other
		}
	}
	if who == "" || r.read[who] == r.posts {
		return nil
	}
	r.read[who] = r.posts
	last := r.recent[len(r.recent)-1]
	return []proto.Message{read(r.id, who, &eventsv1.ReadUpTo{
		Target: &eventsv1.ReadUpTo_MessageId{MessageId: last.id},
	})}
}

// readOne lets a member read a single message, as from a notification, and leave those before it
// unread.
func (s *Scenario) readOne(r *channelState) []proto.Message {
	who := s.actor(r)
	p := s.anyPost(r)
	if p == nil || who == "" || r.read[who] >= r.posts {
		return nil
	}
	return []proto.Message{read(r.id, who, &eventsv1.MessagesRead{MessageIds: []string{p.id}})}
}

func (s *Scenario) edit(r *channelState) []proto.Message {
	p := s.anyPost(r)
	if p == nil {
		return nil
	}
	return []proto.Message{message(r.id, &eventsv1.MessageEdited{
		MessageId: p.id, Preview: lines[s.rng.IntN(len(lines))], KeepMentions: true,
	})}
}

func (s *Scenario) remove(r *channelState) []proto.Message {
	p := s.anyPost(r)
	if p == nil {
		return nil
	}
	p.gone = true
	return []proto.Message{message(r.id, &eventsv1.MessageDeleted{MessageId: p.id})}
}

// markUnread lets a member keep a message for later.
func (s *Scenario) markUnread(r *channelState) []proto.Message {
	who := s.actor(r)
	if who == "" || len(r.recent) == 0 || r.read[who] < r.posts {
		return nil // they are behind anyway
	}
	back := min(1+s.rng.IntN(3), len(r.recent))
	r.read[who] = r.posts - back
	return []proto.Message{read(r.id, who, &eventsv1.MarkedUnread{
		MessageId:     r.recent[len(r.recent)-back].id,
		HeadMessageId: r.recent[len(r.recent)-1].id,
	})}
}

// rename posts a system message, which counts as unread for no member.
func (s *Scenario) rename(r *channelState) []proto.Message {
	if r.direct {
		return nil
	}
	return []proto.Message{message(r.id, &eventsv1.MessagePosted{MessageId: s.newID(), Silent: true, Preview: "the topic was changed"})}
}

func (s *Scenario) mute(r *channelState) []proto.Message {
	who := s.actor(r)
	if r.direct || who == "" || who == people[0] { // the banner suggests to watch this user
		return nil
	}
	r.muted[who] = !r.muted[who]
	return []proto.Message{read(r.id, who, &eventsv1.ChannelMuted{Muted: r.muted[who]})}
}

// anyPost returns one of the newest ten posts that still exist; nil if the random choice finds
// none.
func (s *Scenario) anyPost(r *channelState) *post {
	if len(r.recent) == 0 {
		return nil
	}
	p := &r.recent[len(r.recent)-1-s.rng.IntN(min(10, len(r.recent)))]
	if p.gone {
		return nil
	}
	return p
}

// Next returns the next step; it has no event if nobody acts.
func (s *Scenario) Next() Step {
	pause := 80*time.Millisecond + time.Duration(s.rng.ExpFloat64()*float64(220*time.Millisecond))
	step := Step{Pause: min(pause, 2*time.Second)}
	for range triesOfAStep {
		if step.Events = s.act(s.anyChannel()); len(step.Events) > 0 {
			break
		}
	}
	return step
}
