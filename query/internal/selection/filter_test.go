package selection

import (
	"testing"

	"github.com/tidemark/tidemark/projections"
)

func TestFilter(t *testing.T) {
	labelled := &projections.Standing{ChannelLabels: []string{"work"}, OwnLabels: []string{"mine"}}
	filed := &projections.Standing{Archived: true, OwnLabels: []string{"mine"}}
	for _, c := range []struct {
		filter Filter
		unread bool
		of     *projections.Standing
		listed bool
	}{
		{Filter{}, false, nil, true}, {Filter{}, true, filed, false}, {Filter{}, false, labelled, true},
		{Filter{Archived: OnlyArchived}, true, nil, false}, {Filter{Archived: OnlyArchived}, true, filed, true},
		{Filter{Archived: AllArchived}, true, nil, true}, {Filter{Archived: AllArchived}, true, filed, true},
		{Filter{UnreadOnly: true}, false, nil, false}, {Filter{UnreadOnly: true}, true, nil, true},
		{Filter{Label: "work"}, true, nil, false}, {Filter{Label: "work"}, true, labelled, true}, {Filter{Label: "mine"}, true, labelled, true},
		{Filter{Label: "mine"}, true, filed, false}, {Filter{Label: "other"}, true, labelled, false},
	} {
		if got := !c.filter.drops(c.unread, c.of); got != c.listed {
			t.Errorf("%+v lists %+v, unread %v: %v", c.filter, c.of, c.unread, got)
		}
	}
}

func TestParseArchived(t *testing.T) {
	for s, want := range map[string]Archived{"": WithoutArchived, "without": WithoutArchived, "only": OnlyArchived, "all": AllArchived} {
		if got, err := ParseArchived(s); err != nil || got != want {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	_, err := ParseArchived("none")
	if want := `invalid_argument: archived is "none", want without, only or all`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
