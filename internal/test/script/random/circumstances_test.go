package random

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
)

// partUse is one use of a part in a case, with its users.
type partUse struct {
	part    Part
	channel string
	users   []string
	until   int64 // log time after which it applies to no new message; 0: it never does
}

// lapse is how long an event waits, in milliseconds (DESIGN §4.3).
const lapse = 7 * day

// partUses lists the uses of parts in a case.
func partUses(c *Case) (all []partUse) {
	for _, r := range c.Log[events.Messages] {
		e, channel := r.Message, string(r.Message.ChannelID)
		if len(e.HiddenFrom) > 0 {
			all = append(all, partUse{part: HiddenFrom, channel: channel, users: texts(e.HiddenFrom)})
		}
		if e.MarksRead != events.NotStated {
			all = append(all, partUse{part: MarksRead, channel: channel, users: []string{string(e.SenderID)}})
		}
		if e.Kind == events.KindChannelUpdated {
			all = append(all, partUse{part: Updated, channel: channel, users: membersEver(c, channel)})
		}
	}
	for _, r := range c.Log[events.Reads] {
		e := r.Read
		of := partUse{channel: string(e.ChannelID), users: []string{string(e.UserID)}, until: max(e.OccurredAt, r.Timestamp) + lapse}
		for part, kinds := range kindsOf {
			if _, is := kinds[e.Kind]; is && e.Kind != events.KindChannelMuted {
				of.part = part
				all = append(all, of)
			}
		}
		if e.WithThreads {
			of.part = WithThreads
			all = append(all, of)
		}
	}
	return all
}

func texts(ids [][]byte) (out []string) {
	for _, id := range ids {
		out = append(out, string(id))
	}
	return out
}

func membersEver(c *Case, channel string) (users []string) {
	for _, r := range c.Log[events.Messages] {
		if e := r.Message; e.Kind == events.KindMembersJoined && string(e.ChannelID) == channel {
			users = append(users, texts(e.IDs)...)
		}
	}
	return users
}

// circumstances are the situations of a channel, or of a user in it, in which a part is used.
var circumstances = map[string]func(c *Case, s *partUse) bool{
	"in a small channel": func(c *Case, s *partUse) bool { return mostMembers(c, s.channel) <= int(c.Settings.FanoutLimit) },
	"in a large channel": func(c *Case, s *partUse) bool { return mostMembers(c, s.channel) > int(c.Settings.FanoutLimit) },
	"by one who leaves and comes back": func(c *Case, s *partUse) bool {
		left := false
		return inTimeline(c, s.channel, func(r *script.Record) bool {
			e := r.Message
			named := slices.ContainsFunc(s.users, func(u string) bool { return slices.Contains(texts(e.IDs), u) })
			left = left || named && e.Kind == events.KindMembersLeft
			return left && named && e.Kind == events.KindMembersJoined
		})
	},
	"by one who is erased": func(c *Case, s *partUse) bool {
		return slices.ContainsFunc(c.Log[events.Reads], func(r script.Record) bool {
			return r.Read.Kind == events.KindUserErased && string(r.Read.ChannelID) == s.channel && slices.Contains(s.users, string(r.Read.UserID))
		})
	},
	"in a channel that is purged":  hasKind(events.KindMessagesPurged),
	"in a channel that is seeded":  hasKind(events.KindMessagesSeeded),
	"in a channel that is deleted": hasKind(events.KindChannelDeleted),
	"and a message is posted after it lapses": func(c *Case, s *partUse) bool {
		return inTimeline(c, s.channel, func(r *script.Record) bool {
			return r.Message.Kind == events.KindMessagePosted && s.until > 0 && r.Message.OccurredAt > s.until
		})
	},
}

func hasKind(k events.Kind) func(c *Case, s *partUse) bool {
	return func(c *Case, s *partUse) bool {
		return inTimeline(c, s.channel, func(r *script.Record) bool { return r.Message.Kind == k })
	}
}

func inTimeline(c *Case, channel string, is func(r *script.Record) bool) bool {
	return slices.ContainsFunc(c.Log[events.Messages], func(r script.Record) bool { return string(r.Message.ChannelID) == channel && is(&r) })
}

func mostMembers(c *Case, channel string) (most int) {
	members := map[string]bool{}
	inTimeline(c, channel, func(r *script.Record) bool {
		for _, u := range texts(r.Message.IDs) {
			switch r.Message.Kind {
			case events.KindMembersJoined:
				members[u] = true
			case events.KindMembersLeft:
				delete(members, u)
			}
		}
		most = max(most, len(members))
		return false
	})
	return most
}

// TestDrawsPartsInAllCircumstances: each part occurs in every circumstance. The properties of
// projections cut and restart a partition amid such cases.
func TestDrawsPartsInAllCircumstances(t *testing.T) {
	const cases = 400
	found := map[Part]map[string]int{}
	for _, draw := range []func(*rapid.T) *Case{DrawMore(Folded()...), DrawTakenBackMore(Folded()...), DrawCrowdMore(Folded()...), DrawRule("what is said and forgotten")} {
		g := rapid.Custom(draw)
		for seed := range cases {
			c, in := g.Example(seed), map[Part]map[string]bool{}
			for _, s := range partUses(c) {
				if in[s.part] == nil {
					in[s.part] = map[string]bool{}
				}
				for name, is := range circumstances {
					in[s.part][name] = in[s.part][name] || is(c, &s)
				}
			}
			for part, names := range in {
				if found[part] == nil {
					found[part] = map[string]int{}
				}
				for name, is := range names {
					if is {
						found[part][name]++
					}
				}
			}
		}
	}
	for _, part := range Folded() {
		for name := range circumstances {
			waits := part != HiddenFrom && part != MarksRead && part != Updated
			if n := found[part][name]; n < 2 && (waits || name != "and a message is posted after it lapses") {
				t.Errorf("%s %s comes up %d times", part, name, n)
			}
		}
		t.Logf("%s: %v", part, found[part])
	}
}
