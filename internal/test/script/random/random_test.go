package random

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// A property test proves nothing about events that its generator never draws. So this file lists
// what the generators must draw: each line is a case that has broken a fold, or might.

// seen counts the cases in which something comes up.
type seen map[string]int

func (s seen) in(c *Case) {
	found := map[string]bool{}
	note := func(is bool, what string, args ...any) {
		if is {
			found[fmt.Sprintf(what, args...)] = true
		}
	}
	at := map[string]int64{} // time of the last message, by channel
	posted := map[string]bool{}
	for _, r := range c.Log[events.Messages] {
		e := r.Message
		note(true, "kind %d", e.Kind)
		note(e.OccurredAt > r.Timestamp, "a message's clock is ahead")
		note(at[string(e.ChannelID)] > e.OccurredAt, "times run backwards")
		at[string(e.ChannelID)] = max(at[string(e.ChannelID)], e.OccurredAt)
		note(string(e.ChannelID) == script.DefaultChannel+"2", "a channel's id begins with another's")
		id := string(e.ChannelID) + " " + string(e.MessageID)
		switch e.Kind {
		case events.KindMessagePosted:
			note(posted[id], "a post comes again")
			note(e.Silent && len(e.SenderID) == 0, "a notice")
			note(len(e.ThreadID) > 0, "a reply, broadcast %t", e.Broadcast)
			note(len(e.ThreadID) > 0 && !posted[string(e.ChannelID)+" "+string(e.ThreadID)], "a reply before its root")
			note(bytes.Equal(e.ThreadID, e.MessageID), "a reply to itself")
			note(len(e.IDs) > 0, "mentions, all %t", e.MentionAll)
			note(e.MemberCount > 0, "the members are stated")
			note(len(e.HiddenFrom) > 0, "hidden from some, a mention %t", len(e.IDs) > 0)
			note(slices.ContainsFunc(e.HiddenFrom, func(u []byte) bool { return bytes.Equal(u, e.SenderID) }), "hidden from its sender")
			note(e.MarksRead != events.NotStated, "marks read %t", e.MarksRead == events.Yes)
			posted[id] = true
		case events.KindMessageEdited:
			note(len(e.IDs) > 0, "mentions by an edit, keeping %t", e.KeepMentions)
			note(!posted[id], "an edit of what is not there")
		case events.KindMessageDeleted:
			note(e.Seq > 0 && len(e.MessageID) > 0, "a deletion with a seq, there %t", posted[id])
			note(len(e.MessageID) == 0, "a deletion by seq alone")
		case events.KindMessagesSeeded:
			note(at[string(e.ChannelID)] == e.OccurredAt && r.Offset == 0, "the log begins with seeded messages")
		case events.KindMessagesPurged:
			note(true, "a purge by target %d", e.Target)
		case events.KindChannelUpdated:
			note(true, "updated, labels %t, archived %t", len(e.IDs) > 0, e.Archived)
		case events.KindMembersJoined:
			note(true, "joined, history counts %t", e.CountHistory)
		}
	}
	named := func(channel, id []byte) bool { return posted[string(channel)+" "+string(id)] }
	for _, r := range c.Log[events.Reads] {
		e := r.Read
		note(true, "kind %d", e.Kind)
		note(len(e.ThreadID) > 0, "kind %d in a thread", e.Kind)
		note(r.Timestamp > e.OccurredAt, "a read is recorded late")
		note(r.Timestamp < e.OccurredAt, "a read's clock is ahead")
		note(e.ReadEpoch > 0, "an epoch is stated")
		note(len(e.InstanceID) > 0, "from %s", e.InstanceID)
		note(slices.Contains([]string{"ab", "abc"}, string(e.UserID)), "a user's id begins with another's")
		switch e.Kind {
		case events.KindReadUpTo:
			note(true, "read up to target %d, private %t", e.Target, e.Private)
			note(e.Target == events.TargetMessageID && !named(e.ChannelID, e.MessageID), "a read of what never comes")
		case events.KindMessagesRead:
			note(len(e.IDs) > 1, "several are read singly, private %t", e.Private)
		case events.KindMarkedUnread:
			note(e.Seq > 0, "a mark by seq, alone %t", len(e.MessageID) == 0)
			note(true, "a mark, head by seq %t, by id %t", e.HeadSeq > 0, len(e.HeadMessageID) > 0)
		case events.KindChannelMuted:
			note(true, "muted %t", e.Muted)
		default:
			note(true, "kind %d, head %t", e.Kind, e.HeadSeq > 0)
			note(true, "kind %d, some %t, up to %t", e.Kind, len(e.IDs) > 0, e.Seq > 0)
			note(e.Flagged, "a flag")
			note(e.Archived, "a filing, for good %t", e.Keep)
			note(e.Kind == events.KindNotifySet, "level %d, until %t", e.Level, e.Until > 0)
			note(e.IgnoreAll != events.NotStated, "ignoring all %t", e.IgnoreAll == events.Yes)
		}
		note(e.WithThreads, "with threads, target %d", e.Target)
	}
	for _, r := range c.Log[events.Deliveries] {
		e := r.Delivery
		note(true, "kind %d, up to %t", e.Kind, len(e.UpToID) > 0)
		note(r.Timestamp > e.OccurredAt, "a delivery is recorded late")
	}
	for in := range c.Log {
		n := len(c.Log[in])
		note(n > 0 && c.Log[in][n-1].Offset >= int64(n), "gaps in topic %d", in)
	}
	for what := range found {
		s[what]++
	}
}

// drawn counts over a fixed set of cases.
func drawn(cases int, draw func(*rapid.T) *Case, also func(s seen, c *Case)) seen {
	s, g := seen{}, rapid.Custom(draw)
	for seed := range cases {
		c := g.Example(seed)
		s.in(c)
		if also != nil {
			also(s, c)
		}
	}
	return s
}

func TestDrawsEverything(t *testing.T) {
	want := []string{
		"a message's clock is ahead", "times run backwards", "a channel's id begins with another's", "a user's id begins with another's",
		"a post comes again", "a notice", "a reply, broadcast false", "a reply, broadcast true", "a reply before its root", "a reply to itself",
		"mentions, all false", "mentions, all true", "the members are stated", "mentions by an edit, keeping false",
		"mentions by an edit, keeping true", "an edit of what is not there", "a deletion with a seq, there true", "a deletion with a seq, there false",
		"a deletion by seq alone", "the log begins with seeded messages", "a mark by seq, alone false", "a mark by seq, alone true",
		"joined, history counts true", "joined, history counts false", "a read is recorded late", "a read's clock is ahead", "an epoch is stated",
		"from phone", "from desk", "a read of what never comes", "several are read singly, private false", "several are read singly, private true",
		"a mark, head by seq false, by id false", "a mark, head by seq true, by id false", "a mark, head by seq false, by id true",
		"a mark, head by seq true, by id true", "muted true", "muted false", "a delivery is recorded late", "gaps in topic 0", "gaps in topic 1",
		"gaps in topic 2",
	}
	for k := events.Kind(1); k < events.NumKinds; k++ {
		switch k {
		case events.KindChannelUpdated, events.KindNotifySet, events.KindFlagSet, events.KindChannelFiled, events.KindMessagesHidden,
			events.KindLineSet, events.KindMessagesViewed, events.KindLabelsSet: // TestDrawsMore
		case events.KindDelivered:
			want = append(want, fmt.Sprintf("kind %d, up to true", k), fmt.Sprintf("kind %d, up to false", k))
		case events.KindQueued:
			want = append(want, fmt.Sprintf("kind %d, up to false", k))
		default:
			want = append(want, fmt.Sprintf("kind %d", k))
		}
	}
	for _, k := range []events.Kind{events.KindReadUpTo, events.KindMessagesRead, events.KindMarkedUnread, events.KindThreadFollowed, events.KindThreadUnfollowed} {
		want = append(want, fmt.Sprintf("kind %d in a thread", k))
	}
	for _, to := range []events.Target{events.TargetMessageID, events.TargetSeq, events.TargetTime} {
		want = append(want, fmt.Sprintf("a purge by target %d", to), fmt.Sprintf("read up to target %d, private true", to),
			fmt.Sprintf("read up to target %d, private false", to))
	}
	const cases = 800
	s := drawn(cases, Draw, nil)
	for _, what := range want {
		if s[what] < 2 {
			t.Errorf("%q comes up in %d of %d cases", what, s[what], cases)
		}
	}
}

// TestDrawsMore: all parts come up in all their forms, and a part that is requested alone comes
// alone.
func TestDrawsMore(t *testing.T) {
	const cases = 600
	s := drawn(cases, DrawMore(Parts()...), nil)
	want := []string{
		"hidden from some, a mention true", "hidden from some, a mention false", "hidden from its sender", "marks read true", "marks read false",
		"updated, labels true, archived true", "updated, labels true, archived false", "updated, labels false, archived false",
		"a flag", "a filing, for good true", "a filing, for good false", "ignoring all true", "ignoring all false",
		"with threads, target 1", "with threads, target 2", "with threads, target 3",
	}
	for level := range events.NumLevels {
		want = append(want, fmt.Sprintf("level %d, until true", level), fmt.Sprintf("level %d, until false", level))
	}
	for _, k := range []events.Kind{events.KindFlagSet, events.KindChannelFiled} {
		want = append(want, fmt.Sprintf("kind %d, head true", k), fmt.Sprintf("kind %d, head false", k))
	}
	for _, k := range []events.Kind{events.KindMessagesHidden, events.KindMessagesViewed, events.KindLabelsSet} {
		want = append(want, fmt.Sprintf("kind %d, some true, up to false", k))
	}
	want = append(want, fmt.Sprintf("kind %d, some true, up to true", events.KindMessagesHidden),
		fmt.Sprintf("kind %d, some false, up to true", events.KindMessagesHidden), fmt.Sprintf("kind %d, some false, up to true", events.KindLineSet),
		fmt.Sprintf("kind %d, some false, up to false", events.KindLineSet), fmt.Sprintf("kind %d, some false, up to false", events.KindLabelsSet))
	for _, what := range want {
		if s[what] < 2 {
			t.Errorf("%q comes up in %d of %d cases", what, s[what], cases)
		}
	}
	lines := drawn(cases, DrawMore(Lines), nil)
	for k := events.KindNotifySet; k <= events.KindLabelsSet; k++ {
		if n := lines[fmt.Sprintf("kind %d", k)]; (k == events.KindLineSet) != (n > 0) {
			t.Errorf("with lines alone there are %d cases with %s", n, k)
		}
	}
}

// TestDrawsCrowds: channels cross the limits in both directions amid other events, and their state
// takes more than one page, set or block.
func TestDrawsCrowds(t *testing.T) {
	const cases = 600
	limit := int(projections.DefaultSettings().FanoutLimit)
	s := drawn(cases, DrawCrowd, func(s seen, c *Case) {
		members, posts, large, shrank := map[string]bool{}, 0, false, false
		for _, r := range c.Log[events.Messages] {
			e := r.Message
			for _, id := range e.IDs {
				switch e.Kind {
				case events.KindMembersJoined:
					members[string(id)] = true
				case events.KindMembersLeft:
					delete(members, string(id))
				}
			}
			if e.Kind == events.KindMessagePosted {
				posts++
			}
			switch n := len(members); {
			case n > limit:
				if shrank {
					s["large again"]++
					shrank = false
				}
				large = true
			case n <= limit*8/10 && large:
				s["large and then small"]++
				large, shrank = false, posts > 0
			}
		}
		if posts > 70 {
			s["many posts"]++
		}
		for _, r := range c.Log[events.Reads] {
			if r.Read.UserID[0] == 'p' {
				s["one of the crowd reads"]++
				break
			}
		}
	})
	for _, what := range []string{"large and then small", "large again", "many posts", "one of the crowd reads", "gaps in topic 0"} {
		if s[what] < 3 {
			t.Errorf("%q comes up %d times in %d cases", what, s[what], cases)
		}
	}
}

// TestDrawsWhatIsTakenBack: much of what users do disappears later with the messages, the thread or
// the channel, or with the users' erasure.
func TestDrawsWhatIsTakenBack(t *testing.T) {
	const cases = 1000
	s := drawn(cases, DrawTakenBack, func(s seen, c *Case) {
		gone, active, channel := map[string]bool{}, map[string]bool{}, false
		for _, r := range c.Log[events.Messages] {
			switch e := r.Message; e.Kind {
			case events.KindMessageDeleted:
				gone[string(e.MessageID)] = true
			case events.KindChannelDeleted:
				channel = true
			}
		}
		found := map[string]bool{}
		note := func(is bool, what string) { found[what] = found[what] || is }
		for _, r := range c.Log[events.Reads] {
			e := r.Read
			note(channel && e.Kind == events.KindThreadFollowed, "a follow in a channel that is deleted")
			note(slices.ContainsFunc(e.IDs, func(id []byte) bool { return gone[string(id)] }), "what is read is deleted")
			note(e.Kind == events.KindUserErased && active[string(e.UserID)], "who did something in a thread is erased")
			active[string(e.UserID)] = active[string(e.UserID)] || len(e.ThreadID) > 0
		}
		for _, r := range c.Log[events.Deliveries] {
			e := r.Delivery
			note(e.Kind == events.KindQueued && gone[string(e.MessageID)], "what is queued is deleted")
		}
		for what, is := range found {
			if is {
				s[what]++
			}
		}
	})
	for _, what := range []string{
		"a follow in a channel that is deleted", "what is read is deleted", "who did something in a thread is erased", "what is queued is deleted",
	} {
		if s[what] < 5 {
			t.Errorf("%q comes up in %d of %d cases", what, s[what], cases)
		}
	}
}

// TestCasesAreWellFormed: a decoder accepts every drawn event, and its text parses to the same
// event, so that a failing script can become a golden file.
func TestCasesAreWellFormed(t *testing.T) {
	for name, draw := range map[string]func(*rapid.T) *Case{
		"Draw": Draw, "DrawMore": DrawMore(Parts()...), "DrawCrowd": DrawCrowd, "DrawTakenBack": DrawTakenBack, "DrawRepliesTakenBack": DrawRepliesTakenBack,
	} {
		g := rapid.Custom(draw)
		for seed := range 40 {
			c := g.Example(seed)
			for in := range c.Log {
				last := int64(-1)
				for _, r := range c.Log[in] {
					if r.Offset <= last {
						t.Fatalf("%s, seed %d: offset %d after %d", name, seed, r.Offset, last)
					}
					last = r.Offset
					if r.Message != nil && r.Message.OccurredAt > r.Timestamp+5*minute {
						t.Fatalf("%s, seed %d: %s is more than 5 minutes ahead of its record", name, seed, script.Format(&r))
					}
					if got, err := new(script.Parser).Parse(script.Format(&r)); err != nil || len(got) != 1 || script.Format(&got[0]) != script.Format(&r) {
						t.Fatalf("%s, seed %d: %q is read as %v, %v", name, seed, script.Format(&r), got, err)
					}
				}
			}
		}
	}
}
