package synapse

import (
	"math"
	"slices"
	"testing"
)

// A room is muted as long as one of its rules exists, is enabled, and notifies of nothing.
func TestSpans(t *testing.T) {
	const room, override = "global/room/!r", "global/override/!r"
	add := func(rule string, at int64) change { return change{rule: rule, op: "ADD", quiet: true, at: at} }
	op := func(rule, op string, at int64) change { return change{rule: rule, op: op, at: at} }
	for name, c := range map[string]struct {
		changes []change
		want    []span
	}{
		"nothing":                             {nil, nil},
		"still muted":                         {[]change{add(room, 3)}, []span{{3, math.MaxInt64}}},
		"removed":                             {[]change{add(room, 3), op(room, "DELETE", 7)}, []span{{3, 7}}},
		"disabled, and enabled again":         {[]change{add(room, 3), op(room, "DISABLE", 5), op(room, "ENABLE", 8), op(room, "DISABLE", 9)}, []span{{3, 5}, {8, 9}}},
		"made again while disabled":           {[]change{add(room, 3), op(room, "DISABLE", 5), add(room, 8)}, []span{{3, 5}}},
		"removed while disabled":              {[]change{add(room, 3), op(room, "DISABLE", 5), op(room, "DELETE", 6), add(room, 8)}, []span{{3, 5}, {8, math.MaxInt64}}},
		"other actions":                       {[]change{op(room, "ADD", 1), {rule: room, op: "ACTIONS", quiet: true, at: 3}, op(room, "ACTIONS", 6)}, []span{{3, 6}}},
		"two rules, one after another":        {[]change{add(room, 3), add(override, 5), op(room, "DELETE", 7), op(override, "DISABLE", 9)}, []span{{3, 9}}},
		"nothing came meanwhile":              {[]change{add(room, 3), op(room, "DELETE", 3)}, nil},
		"enabled, but nothing is known of it": {[]change{op(room, "ENABLE", 3)}, nil},
	} {
		if got := spans(c.changes); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if s := (span{3, 5}); s.has(3) || !s.has(4) || !s.has(5) || s.has(6) {
		t.Error("the bounds of a range")
	}
}

func TestRulesOfARoom(t *testing.T) {
	for rule, want := range map[string]string{
		"global/override/!a:here": "!a:here", "global/room/!a/b": "!a/b", "global/override/.m.rule.master": "", "global/content/!a": "", "global/room/": "",
	} {
		room, ok := RoomOf(rule)
		if ok != (want != "") || ok && room != want {
			t.Errorf("%s: %q, %v", rule, room, ok)
		}
	}
	for actions, want := range map[string]bool{"[]": true, `["dont_notify"]`: true, `["notify",{"set_tweak":"sound"}]`: false} {
		if quiet, err := Quiet(actions); err != nil || quiet != want {
			t.Errorf("%s: %v, %v", actions, quiet, err)
		}
	}
	if _, err := Quiet("none"); err == nil {
		t.Error("no list is taken as one")
	}
}
