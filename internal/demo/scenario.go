package demo

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// Event is one event and where it goes.
type Event struct {
	Input   events.Input
	Channel string
	Value   proto.Message // *eventsv1.MessageEvent or *eventsv1.ReadEvent
}

// Step is what happens next, and how long nothing happens before it.
type Step struct {
	Pause  time.Duration
	Events []Event
}

// Scenario is the company. Two with the same seed and run do the same for ever. It is not safe for concurrent use.
type Scenario struct {
	rng   *rand.Rand
	run   string
	posts int
	rooms []*roomState
	total int // of the rooms' weights
	away  map[string]bool
}

// roomState is what the demo itself remembers of a channel: enough to read, edit and delete sensibly.
type roomState struct {
	room
	recent []post         // newest last, at most recentPosts
	read   map[string]int // by member: number of posts that were there when he last read
	posts  int            // in this run
	muted  map[string]bool
}

type post struct {
	id, sender string
	gone       bool
}

// recentPosts is how many posts of a channel people still refer to.
const recentPosts = 40

// New makes a scenario. run names this run: it is part of every message id, so that a second run on the same topics
// posts new messages.
func New(seed uint64, run string) *Scenario {
	s := &Scenario{rng: rand.New(rand.NewPCG(seed, 0x7469646d61726b)), run: run, away: map[string]bool{}}
	for _, r := range rooms() {
		s.rooms = append(s.rooms, &roomState{room: r, read: map[string]int{}, muted: map[string]bool{}})
		s.total += r.weight
	}
	return s
}

// Setup is what makes the channels: everybody joins. Doing it again changes nothing.
func (s *Scenario) Setup() []Event {
	var all []Event
	for _, r := range s.rooms {
		all = append(all, message(r.id, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersJoined{
			MembersJoined: &eventsv1.MembersJoined{UserIds: r.members, CountHistory: r.direct},
		}}))
	}
	return all
}

// triesOfAStep bounds how often Next looks for somebody who does something: if everybody is away, nobody does.
const triesOfAStep = 100

// SetAway says who does nothing until the next call: neither posts, reads nor mutes.
func (s *Scenario) SetAway(users []string) {
	clear(s.away)
	for _, u := range users {
		s.away[u] = true
	}
}

// Next is what happens next; no event if nobody does anything.
func (s *Scenario) Next() Step {
	pause := 80*time.Millisecond + time.Duration(s.rng.ExpFloat64()*float64(220*time.Millisecond))
	step := Step{Pause: min(pause, 2*time.Second)}
	for range triesOfAStep {
		if step.Events = s.act(s.anyRoom()); len(step.Events) > 0 {
			break
		}
	}
	return step
}

func (s *Scenario) anyRoom() *roomState {
	n := s.rng.IntN(s.total)
	for _, r := range s.rooms {
		if n -= r.weight; n < 0 {
			return r
		}
	}
	panic("demo: the weights do not add up")
}

// actor is a member who may act, empty if the one that luck chose is away. Guests only listen.
func (s *Scenario) actor(r *roomState) string {
	if who := r.members[s.rng.IntN(min(len(r.members), len(people)))]; !s.away[who] {
		return who
	}
	return ""
}

func (s *Scenario) newID() string {
	s.posts++
	return s.run + "-" + strconv.Itoa(s.posts)
}

func (r *roomState) remember(p post) {
	r.posts++
	r.recent = append(r.recent, p)
	if len(r.recent) > recentPosts {
		r.recent = append(r.recent[:0], r.recent[1:]...)
	}
}

// message and read complete an event with its channel and say where it goes.
func message(channel string, e *eventsv1.MessageEvent) Event {
	e.ChannelId = channel
	return Event{Input: events.Messages, Channel: channel, Value: e}
}

func read(channel, user string, e *eventsv1.ReadEvent) Event {
	e.ChannelId, e.UserId, e.InstanceId = channel, user, fmt.Sprintf("demo-%s", user)
	return Event{Input: events.Reads, Channel: channel, Value: e}
}
