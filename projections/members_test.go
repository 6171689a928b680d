package projections

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// FewMembers lists the members of a channel for watches, without former members. A deleted or
// unknown channel has none.
func TestFewMembers(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	postIn := func(kind events.Kind, channel string, users ...string) {
		var ids [][]byte
		for _, u := range users {
			ids = append(ids, []byte(u))
		}
		p.FoldMessage(&events.Message{Kind: kind, ChannelID: []byte(channel), OccurredAt: 1, IDs: ids}, p.Position()[events.Messages], 1)
	}
	members := func(channel string, most int) (list []string, few bool) {
		few = p.FewMembers(channel, most, func(userID []byte) { list = append(list, string(userID)) })
		slices.Sort(list)
		return list, few
	}
	postIn(events.KindMembersJoined, "c", "ann", "bob", "cat")
	postIn(events.KindMembersLeft, "c", "bob")
	postIn(events.KindMembersJoined, "gone", "ann")
	postIn(events.KindChannelDeleted, "gone")
	if list, few := members("c", 3); !few || !slices.Equal(list, []string{"ann", "cat"}) {
		t.Errorf("members are %v, %v", list, few)
	}
	if list, few := members("c", 2); few || list != nil {
		t.Errorf("members are %v, %v, of a channel that three were in", list, few)
	}
	for _, channel := range []string{"gone", "unknown"} {
		if list, few := members(channel, 0); !few || list != nil {
			t.Errorf("members of %s are %v, %v", channel, list, few)
		}
	}
	for user, channels := range map[string]string{"ann": "c", "cat": "c", "bob": "", "nobody": ""} {
		for _, channel := range []string{"c", "gone", "unknown"} {
			if got, want := p.IsMember(user, channel), channel == channels; got != want {
				t.Errorf("%s in %s: %v", user, channel, got)
			}
		}
	}
}
