package projections

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestCompareNamesEachField: for two stores that folded different records at the same offsets, the
// comparison names the differing field of DESIGN §4.7 and both values.
func TestCompareNamesEachField(t *testing.T) {
	hour := int64(3_600_000)
	settings := func(r events.Read) func(*feed) { return func(f *feed) { f.setting("c", "ann", r) } }
	posted := func(m events.Message) func(*feed) {
		m.Kind, m.ChannelID, m.MessageID, m.SenderID = events.KindMessagePosted, []byte("c"), []byte("m2"), []byte("bob")
		return func(f *feed) { f.message(m) }
	}
	updated := func(m events.Message) func(*feed) {
		m.Kind, m.ChannelID = events.KindChannelUpdated, []byte("c")
		return func(f *feed) { f.message(m) }
	}
	ann := [][]byte{[]byte("ann")}
	for _, c := range []struct {
		one, other func(*feed)
		want       string
	}{
		{settings(events.Read{Kind: events.KindNotifySet, Level: events.LevelMentions}), settings(events.Read{Kind: events.KindNotifySet}), `user "ann", level: MENTIONS, ALL`},
		{settings(events.Read{Kind: events.KindNotifySet, Level: events.LevelMentions, Until: hour}),
			settings(events.Read{Kind: events.KindNotifySet, Level: events.LevelMentions, Until: 2 * hour}),
			`user "ann", until: 1970-01-01T01:00:00.000Z, 1970-01-01T02:00:00.000Z`},
		{func(f *feed) {
			f.setting("c", "ann", events.Read{Kind: events.KindNotifySet, Level: events.LevelNone})
			f.setting("c", "ann", events.Read{Kind: events.KindNotifySet, Level: events.LevelMentions, Until: hour})
		}, func(f *feed) {
			f.setting("c", "ann", events.Read{Kind: events.KindNotifySet})
			f.setting("c", "ann", events.Read{Kind: events.KindNotifySet, Level: events.LevelMentions, Until: hour})
		}, `user "ann", level_after: NONE, ALL`},
		{settings(events.Read{Kind: events.KindNotifySet, IgnoreAll: events.Yes}), settings(events.Read{Kind: events.KindNotifySet}), `user "ann", ignore_mention_all: true, false`},
		{settings(events.Read{Kind: events.KindFlagSet, Flagged: true}), settings(events.Read{Kind: events.KindFlagSet}), `user "ann", flagged: true, false`},
		{settings(events.Read{Kind: events.KindChannelFiled, Archived: true}), settings(events.Read{Kind: events.KindChannelFiled}), `user "ann", filed: up to pos 1, none`},
		{settings(events.Read{Kind: events.KindChannelFiled, Archived: true, Keep: true}), settings(events.Read{Kind: events.KindChannelFiled, Archived: true}),
			`user "ann", filed: for good, up to pos 1`},
		{settings(events.Read{Kind: events.KindLineSet, MessageID: []byte("m1")}), settings(events.Read{Kind: events.KindLineSet, Seq: 1}), `user "ann", line: m1, seq 1`},
		{settings(events.Read{Kind: events.KindLabelsSet, IDs: idsOf([]string{"home", "work"})}), settings(events.Read{Kind: events.KindLabelsSet}), `user "ann", labels: home, work, `},
		{settings(events.Read{Kind: events.KindMessagesHidden, IDs: idsOf([]string{"m1"})}), settings(events.Read{Kind: events.KindMessagesHidden, IDs: idsOf([]string{"m7"})}),
			`user "ann", unread: 0, 1`},
		{posted(events.Message{IDs: ann}), posted(events.Message{MentionAll: true}), `user "ann", direct_mentions: 1, 0`},
		{posted(events.Message{IDs: ann}), posted(events.Message{}), `user "ann", first_mention: m2 (seq 2), none`},
		{posted(events.Message{HiddenFrom: ann}), posted(events.Message{}), `user "ann", unread: 1, 2`},
		{posted(events.Message{HiddenFrom: ann}), posted(events.Message{}), `user "ann", ask: true, false`},
		{updated(events.Message{IDs: idsOf([]string{"acme", "team"})}), updated(events.Message{IDs: idsOf([]string{"acme"})}), `channel "c", labels: acme, team, acme`},
		{updated(events.Message{Archived: true}), updated(events.Message{IDs: idsOf([]string{"acme"})}), `channel "c", archived: true, false`},
	} {
		id := testIdentity()
		if strings.Contains(c.want, "ask") {
			id.Settings.FanoutLimit = 1
		}
		var stores [2]*Partition
		for i, tell := range []func(*feed){c.one, c.other} {
			p := mustOpen(t, vfs.NewMem(), id)
			f := &feed{p: p, now: 1000}
			f.join("c", "ann", "bob")
			f.post("c", "m1", "bob", "")
			tell(f)
			f.store(t)
			stores[i] = p
		}
		var got []string
		if _, err := Compare(stores[0], stores[1], func(d Difference) bool { got = append(got, d.String()); return true }); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, c.want) }) {
			t.Errorf("%q is not in\n%s", c.want, strings.Join(got, "\n"))
		}
		for _, p := range stores {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
