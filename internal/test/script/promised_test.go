package script

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// full returns a view in which no field is zero.
func full(t *testing.T) projections.View {
	t.Helper()
	v := projections.View{
		UserID: "a", ChannelID: "c", Member: true, Unread: 1, Mentions: 2, OfflineUnread: 3, FirstUnread: projections.Ref{Seq: 4},
		LastRead: projections.Ref{Seq: 5}, LastReadAt: 6, Latest: projections.Head{Seq: 7}, Large: true, Muted: true, ReadEpoch: 8,
		DirectMentions: 9, FirstMention: projections.Ref{Seq: 10}, ReadPos: 11, Excluded: []uint32{12}, Mentioned: []uint32{13}, Ask: true,
		Level: events.LevelNone, LevelAfter: events.LevelMentions, Until: 14, IgnoreAll: true, Flagged: true,
		Filed: events.Filed{Is: true, Pos: 15}, StillFiled: true, Line: projections.Ref{Seq: 16}, LineKnown: projections.Ref{Seq: 17},
		Labels: []string{"x"}, ChannelLabels: []string{"y"}, ChannelArchived: true, Archived: true, Stamp: events.Stamp{M: 18},
	}
	for i := range reflect.ValueOf(v).NumField() {
		if reflect.ValueOf(v).Field(i).IsZero() {
			t.Fatalf("this test knows no field %s", reflect.TypeOf(v).Field(i).Name)
		}
	}
	return v
}

// cleared returns the names of the fields that Promised clears of a full view.
func cleared(t *testing.T, now projections.View) string {
	t.Helper()
	v := full(t)
	var names []string
	for i, p := 0, reflect.ValueOf(Promised(v, now)); i < p.NumField(); i++ {
		switch name := p.Type().Field(i).Name; {
		case p.Field(i).IsZero():
			names = append(names, name)
		case !reflect.DeepEqual(p.Field(i).Interface(), reflect.ValueOf(v).Field(i).Interface()):
			names = append(names, "part of "+name)
		}
	}
	return strings.Join(names, " ")
}

// TestPromised: which fields a delta promises, to a member of a small and of a large channel, and
// to one who is no member. All others are compared.
func TestPromised(t *testing.T) {
	const never = "LineKnown StillFiled ChannelLabels ChannelArchived Archived Stamp"
	sorted := func(s string) map[string]bool {
		set := map[string]bool{}
		for _, name := range strings.Fields(strings.ReplaceAll(s, "part of ", "part-of-")) {
			set[name] = true
		}
		return set
	}
	const counts = never + " Unread Mentions DirectMentions FirstUnread FirstMention Latest"
	for _, c := range []struct {
		name string
		now  projections.View
		want string
	}{
		{"small", projections.View{Member: true}, never},
		{"large", projections.View{Member: true, Large: true}, counts},
		{"large, the reader asks", projections.View{Member: true, Large: true, Ask: true}, counts + " part of Filed"},
		{"no member", projections.View{}, counts + " part of Filed Large OfflineUnread ReadPos Excluded Mentioned Ask"},
	} {
		if got := cleared(t, c.now); !reflect.DeepEqual(sorted(got), sorted(c.want)) {
			t.Errorf("%s: cleared are %s\nwant %s", c.name, got, c.want)
		}
	}
	undecided := projections.View{Filed: events.Filed{Is: true, Pos: math.MaxUint32}}
	if got := Promised(undecided, projections.View{Member: true, Large: true, Ask: true}); got.Filed.Pos != math.MaxUint32 {
		t.Errorf("an undecided filing is not cleared: %+v", got.Filed)
	}
	if got := Promised(projections.View{LastReadAt: 5}, projections.View{Member: true}); got.LastReadAt != 0 {
		t.Error("the time of an unset pointer is not cleared")
	}
}
