package demo

import (
	"math/rand/v2"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/traffic"
)

// Step is the next events, and the pause before them.
type Step struct {
	Pause  time.Duration
	Events []proto.Message // of type *eventsv1.MessageEvent or *eventsv1.ReadEvent
}

// Scenario is the company. Two scenarios with the same seed and run act the same for ever. It is
// not safe for concurrent use.
type Scenario struct {
	rng      *rand.Rand
	run      string
	posts    int
	channels []*channelState
	total    int // of the rooms' weights
	away     map[string]bool
}

// channelState is the demo's own memory of a channel: enough to read, edit and delete sensibly.
type channelState struct {
	channel
	recent []post         // newest last, at most recentPosts
	read   map[string]int // by member: number of posts at their last read
	posts  int            // in this run
	muted  map[string]bool
}

type post struct {
	id, sender string
	gone       bool
}

// recentPosts is how many posts of a channel people still refer to.
const recentPosts = 40

// New makes a scenario. run names this run: it is part of every message id, so that a second run on
// the same topics posts new messages.
func New(seed uint64, run string) *Scenario {
	s := &Scenario{rng: rand.New(rand.NewPCG(seed, 0x7469646d61726b)), run: run, away: map[string]bool{}}
	for _, r := range channels() {
		s.channels = append(s.channels, &channelState{channel: r, read: map[string]int{}, muted: map[string]bool{}})
		s.total += r.weight
	}
	return s
}

// Setup returns the events that make the channels: everybody joins. A second setup changes nothing.
func (s *Scenario) Setup() []proto.Message {
	var all []proto.Message
	for _, r := range s.channels {
		all = append(all, message(r.id, &eventsv1.MembersJoined{UserIds: r.members, CountHistory: r.direct}))
	}
	return all
}

// triesOfAStep bounds how often Next looks for a person who may act: if everybody is away, nobody
// may.
const triesOfAStep = 100

// SetAway sets the users who neither post, read nor mute until the next call.
func (s *Scenario) SetAway(users []string) {
	clear(s.away)
	for _, u := range users {
		s.away[u] = true
	}
}

func (s *Scenario) anyChannel() *channelState {
	n := s.rng.IntN(s.total)
	for _, r := range s.channels {
		if n -= r.weight; n < 0 {
			return r
		}
	}
	panic("demo: the weights do not add up")
}

// actor returns a random member who may act, or "" if that member is away. Guests only read.
func (s *Scenario) actor(r *channelState) string {
	if who := r.members[s.rng.IntN(min(len(r.members), len(people)))]; !s.away[who] {
		return who
	}
	return ""
}

func (s *Scenario) newID() string {
	s.posts++
	return s.run + "-" + strconv.Itoa(s.posts)
}

func (r *channelState) remember(p post) {
	r.posts++
	r.recent = append(r.recent, p)
	if len(r.recent) > recentPosts {
		r.recent = append(r.recent[:0], r.recent[1:]...)
	}
}

func message(channel string, body proto.Message) proto.Message {
	return traffic.Message(channel, body)
}

func read(channel, user string, body proto.Message) proto.Message {
	e := traffic.Read(channel, user, body)
	e.InstanceId = "demo-" + user
	return e
}
