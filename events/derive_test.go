package events

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestCountIsBruteForce compares Count with a loop over all positions.
func TestCountIsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pos := rapid.Uint32Range(0, 62)
		r := ChannelRecord{HeadPos: pos.Draw(t, "head"), PurgedPos: pos.Draw(t, "purged"),
			Holes: anyPositions().Draw(t, "holes"), Alls: anyPositions().Draw(t, "alls")}
		excluded, mentioned := anyPositions().Draw(t, "excluded"), anyPositions().Draw(t, "mentioned")
		x := Exceptions{ReadPos: pos.Draw(t, "read"), Excluded: PositionsOf(excluded), Mentioned: PositionsOf(mentioned), IgnoreAll: rapid.Bool().Draw(t, "ignores all")}
		var want Counts
		for p := max(x.ReadPos, r.PurgedPos) + 1; p <= r.HeadPos; p++ {
			if slices.Contains(r.Holes, p) || slices.Contains(excluded, p) {
				continue
			}
			if want.Unread++; want.First == 0 {
				want.First = p
			}
			if slices.Contains(mentioned, p) {
				want.Direct++
			}
			if slices.Contains(mentioned, p) || slices.Contains(r.Alls, p) && !x.IgnoreAll {
				if want.Mentions++; want.FirstMention == 0 {
					want.FirstMention = p
				}
			}
		}
		timeline := r.Timeline()
		if got, ok := timeline.Count(&x); !ok || got != want {
			t.Fatalf("%+v %+v: got %+v, %v, want %+v", timeline, x, got, ok, want)
		}
	})
}

// TestCountOfAllPositions: Count counts long runs without a loop over their positions.
func TestCountOfAllPositions(t *testing.T) {
	timeline := Timeline{HeadPos: 4294967295, Alls: Positions{{1, 4294967295}}, Holes: Positions{{4294967290, 4294967295}}}
	got, ok := timeline.Count(&Exceptions{ReadPos: 10, Excluded: Positions{{11, 12}}})
	if want := uint32(4294967289 - 12); !ok || got != (Counts{Unread: want, Mentions: want, First: 13, FirstMention: 13}) {
		t.Errorf("got %+v, %v, want %d", got, ok, want)
	}
}

func TestCountOfShortLists(t *testing.T) {
	full := make([]uint32, MaxListed)
	for i := range full {
		full[i] = uint32(100 + 2*i)
	}
	for name, c := range map[string]struct {
		change func(*Timeline, *Exceptions)
		want   bool
	}{
		"holes listed from where was read":           {func(t *Timeline, _ *Exceptions) { t.HolesFloor = 50 }, true},
		"holes listed from later on":                 {func(t *Timeline, _ *Exceptions) { t.HolesFloor = 51 }, false},
		"alls listed from later on, without meaning": {func(t *Timeline, x *Exceptions) { t.AllsFloor, x.IgnoreAll = 51, true }, true},
		"a reader who has to ask":                    {func(t *Timeline, x *Exceptions) { t.HeadPos, x.Ask = 50, true }, false},
		"holes listed from what is purged":           {func(t *Timeline, _ *Exceptions) { t.HolesFloor, t.PurgedPos = 80, 80 }, true},
		"alls listed from later on":                  {func(t *Timeline, _ *Exceptions) { t.AllsFloor = 51 }, false},
		"a full list of what is excluded":            {func(_ *Timeline, x *Exceptions) { x.Excluded = PositionsOf(full) }, false},
		"a full list of mentions":                    {func(_ *Timeline, x *Exceptions) { x.Mentioned = PositionsOf(full) }, false},
		"a full list, and nothing is above":          {func(t *Timeline, x *Exceptions) { x.Mentioned, t.HeadPos = PositionsOf(full), 50 }, true},
	} {
		timeline, x := Timeline{HeadPos: 5000}, Exceptions{ReadPos: 50}
		c.change(&timeline, &x)
		if _, ok := timeline.Count(&x); ok != c.want {
			t.Errorf("%s: known %v, want %v", name, ok, c.want)
		}
	}
}
