package query

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/queryv1"
)

// TestWatchConvergesOnAllSettings: users write, read and set all of DESIGN §4.7, in small and in
// large channels, and levels end meanwhile. In the end a watch on any node has the channels,
// threads and totals of GetInbox and GetThreads, over all and by label. The badge is the sum of its
// parts.
func TestWatchConvergesOnAllSettings(t *testing.T) {
	seed := rand.Uint64() //nolint:gosec // of this test alone
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // of this test alone
	c := newCluster(t, 4, 2)
	s := &setter{cluster: c, Rand: rnd}
	var crowd []string
	for i := range projections.DefaultSettings().FanoutLimit + 1 {
		crowd = append(crowd, fmt.Sprint("u", i))
	}
	for i := range 8 {
		ch := fmt.Sprint("ch", i)
		if s.channels = append(s.channels, ch); i%4 == 3 {
			c.join(ch, crowd...)
		}
		c.join(ch, "ann", "bob")
		c.post(ch, "root", "ann")
	}
	var watches []*watching
	for _, n := range c.nodes {
		w := n.watch(t, t.Context(), "ann")
		w.next()
		watches = append(watches, w)
	}
	for step := range 500 {
		s.step(step)
		if w := watches[rnd.IntN(2)]; rnd.IntN(10) == 0 {
			select {
			case m := <-w.messages:
				w.apply(m)
			default: // not every event changes anything
			}
		}
	}
	var labels, archived, ends, mentionsOnly int
	for i, w := range watches {
		in, threads := w.converges(c.nodes[1-i], "ann")
		labels, archived = labels+len(in.TotalsByLabel), archived+int(in.Totals.Archived.UnreadChannels)
		if got, want := in.Totals.Badge, badgeOf(in.Channels, threads); got != want {
			t.Errorf("the badge is %d, and the sum of its parts %d", got, want)
		}
		for _, ch := range in.Channels {
			ends += min(1, int(ch.Until.GetSeconds()))
			if ch.Level == answer.Level(events.LevelMentions) {
				mentionsOnly++
			}
		}
	}
	t.Logf("%d labels, %d archived channels with something unread, %d levels that end, %d with mentions alone", labels, archived, ends, mentionsOnly)
}

// setter performs random actions in channels.
type setter struct {
	*cluster
	*rand.Rand
	channels []string
	ids      []string // of messages
}

func (s *setter) yes(n int) bool { return s.IntN(n) == 0 }

// someIDs returns ids of messages, of which some are in another channel.
func (s *setter) someIDs() (out [][]byte) {
	for range 1 + s.IntN(3) {
		out = append(out, []byte(s.ids[len(s.ids)-1-s.IntN(min(len(s.ids), 20))]))
	}
	return out
}

// someLabels returns up to two labels, in ascending order.
func (s *setter) someLabels() (out []string) {
	for _, label := range []string{"home", "work"} {
		if s.yes(2) {
			out = append(out, label)
		}
	}
	return out
}

// step performs one action.
func (s *setter) step(i int) {
	ch, seq := s.channels[s.IntN(len(s.channels))], uint32(1+s.IntN(40))
	say := func(r events.Read) { s.read(r, ch, "ann") }
	switch s.IntN(16) {
	case 0, 1, 2:
		m := events.Message{Kind: events.KindMessagePosted, MessageID: fmt.Appendf(nil, "m%d", i), SenderID: []byte("bob"), MentionAll: s.yes(4)}
		if s.ids = append(s.ids, string(m.MessageID)); s.yes(3) {
			m.IDs = texts([]string{"ann"})
		}
		if s.yes(5) {
			m.HiddenFrom = texts([]string{"ann"})
		}
		s.message(ch, m)
	case 3:
		s.reply(ch, "root", fmt.Sprint("r", i), "bob", []string{"ann", "bob"}[s.IntN(2)])
	case 4:
		s.post(ch, fmt.Sprint("own", i), "ann")
	case 5:
		say(events.Read{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: seq, WithThreads: s.yes(2)})
	case 6:
		say(events.Read{Kind: events.KindMarkedUnread, Seq: seq})
	case 7, 8:
		r := events.Read{Kind: events.KindNotifySet, Level: events.Level(s.IntN(3)), IgnoreAll: events.Choice(s.IntN(3))}
		switch s.IntN(3) {
		case 0:
			r.Until = time.Now().Add(time.Hour).UnixMilli()
		case 1:
			r.Until = time.Now().Add(time.Duration(s.IntN(1000)) * time.Millisecond).UnixMilli()
		}
		say(r)
	case 9:
		say(events.Read{Kind: events.KindFlagSet, Flagged: !s.yes(3), HeadSeq: seq})
	case 10:
		say(events.Read{Kind: events.KindChannelFiled, Archived: !s.yes(3), Keep: s.yes(2), HeadSeq: 1000})
	case 11:
		if len(s.ids) > 0 {
			say(events.Read{Kind: events.KindMessagesHidden, IDs: s.someIDs(), Seq: seq / 4})
		}
	case 12:
		say(events.Read{Kind: events.KindLabelsSet, IDs: texts(s.someLabels())})
	case 13:
		s.updated(ch, s.yes(4), s.someLabels()...)
	case 14:
		say(events.Read{Kind: events.KindLineSet, Target: events.TargetSeq, Seq: seq})
	case 15:
		if s.yes(2) {
			s.leave(ch, "ann")
		}
		s.join(ch, "ann")
	}
}

// converges takes messages until the watch has the answers of another node, and returns these.
func (w *watching) converges(other *node, user string) (*queryv1.GetInboxResponse, []*queryv1.ThreadUnread) {
	w.t.Helper()
	timeout := time.After(2 * time.Minute)
	for {
		in := other.inbox(w.t, &queryv1.GetInboxRequest{UserId: user, Archived: "all", PageSize: 1000})
		threads := other.threads(w.t, &queryv1.GetThreadsRequest{UserId: user, PageSize: 1000}).Threads
		different := w.different(in, threads)
		if different == "" {
			return in, threads
		}
		select {
		case m := <-w.messages:
			w.apply(m)
		case err := <-w.err:
			w.t.Fatalf("the stream ended: %v", err)
		case <-timeout:
			w.t.Fatal(different)
		}
	}
}

// different describes a difference between the sent values and an answer, or returns "" if there is
// none.
func (w *watching) different(in *queryv1.GetInboxResponse, threads []*queryv1.ThreadUnread) string {
	channels := maps.Clone(w.channels)
	maps.DeleteFunc(channels, func(_ string, c *queryv1.ChannelUnread) bool { return !c.Member })
	followed := maps.Clone(w.threads)
	maps.DeleteFunc(followed, func(_ string, t *queryv1.ThreadUnread) bool { return !t.Following })
	if len(channels) != len(in.Channels) || len(followed) != len(threads) || !proto.Equal(w.totals, in.Totals) {
		return fmt.Sprintf("%d channels, %d threads and %v were sent, there are %d, %d and %v",
			len(channels), len(followed), w.totals, len(in.Channels), len(threads), in.Totals)
	}
	for _, c := range in.Channels {
		if got := channels[c.ChannelId]; !proto.Equal(got, c) {
			return fmt.Sprintf("sent was\n%v, it is\n%v", got, c)
		}
	}
	for _, t := range threads {
		if got := followed[t.ChannelId+"\x00"+t.ThreadId]; !proto.Equal(got, t) {
			return fmt.Sprintf("sent was\n%v, it is\n%v", got, t)
		}
	}
	none := &queryv1.Totals{Archived: &queryv1.ArchivedTotals{}}
	for _, label := range slices.Sorted(maps.Keys(w.labels)) {
		want := in.TotalsByLabel[label]
		if want == nil {
			want = none
		}
		if !proto.Equal(w.labels[label], want) {
			return fmt.Sprintf("of label %s sent was\n%v, it is\n%v", label, w.labels[label], want)
		}
	}
	for label := range in.TotalsByLabel {
		if w.labels[label] == nil {
			return fmt.Sprintf("nothing was sent of label %s", label)
		}
	}
	return ""
}

// badgeOf adds up the badge by the definition of DESIGN §4.7.
func badgeOf(channels []*queryv1.ChannelUnread, threads []*queryv1.ThreadUnread) (badge uint32) {
	count := func(level events.Level, unread, mentions uint32) uint32 {
		return [...]uint32{events.LevelAll: unread, events.LevelMentions: mentions, events.LevelNone: 0}[level]
	}
	for _, c := range channels {
		level := answer.LevelOf(c.Level)
		n := count(level, c.Unread, c.Mentions)
		if c.Flagged && level != events.LevelNone {
			n = max(n, 1)
		}
		if !c.Archived {
			badge += n
		}
	}
	for _, t := range threads {
		if !t.Archived {
			badge += count(answer.LevelOf(t.Level), t.Unread, t.Mentions)
		}
	}
	return badge
}
