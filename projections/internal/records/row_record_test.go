package records

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// newState returns an empty state, for rows with parts outside of the row.
func newState() *state.State {
	p := &state.State{}
	p.Begin(identity.DefaultSettings(), nil)
	return p
}

// number draws a number that is often 0, so that parts of a record are left out.
func number[T int64 | uint32](t *rapid.T, label string, from, to T) T {
	if rapid.Bool().Draw(t, "no "+label) {
		return 0
	}
	return T(rapid.Int64Range(int64(from), int64(to)).Draw(t, label))
}

const maxSeq = 1<<32 - 1

// drawRow draws the fields of a row that a record has.
func drawRow(t *rapid.T) (r state.Row, all state.Rare) {
	r = state.Row{Baseline: number[uint32](t, "baseline", 0, maxSeq)}
	r.SetOwn(number[uint32](t, "last own", 0, maxSeq), number[int64](t, "own at", 0, state.MaxTime))
	r.Place(number[uint32](t, "pointer", 0, maxSeq), number[int64](t, "at", 0, state.MaxTime), number[int64](t, "event", 0, state.MaxEvent))
	all = state.Rare{
		OwnFloor: number[uint32](t, "own floor", 0, maxSeq),
		Marks:    number[uint32](t, "marks", 0, maxSeq), LastD: number[int64](t, "last delivery", 0, 1<<60),
		Public: number[uint32](t, "public", 0, maxSeq), PublicAt: number[int64](t, "public at", -1<<50, 1<<50),
		Far: number[uint32](t, "far", 0, maxSeq),
	}
	if rapid.Bool().Draw(t, "as the pointer") {
		all.Public, all.PublicAt, all.Far = r.Pointer, r.At(), r.Pointer
	}
	if all.LastR = number[int64](t, "last read", 1, 1<<60); rapid.Bool().Draw(t, "as implied") {
		p := newState()
		all = *p.Whole(&r)
	}
	if all.OwnFloor == 0 && r.LastOwn == 0 {
		r.SetOwn(0, 0) // has no record
	}
	if rapid.Bool().Draw(t, "member") {
		r.Flags |= state.RowMember
	}
	return r, all
}

// drawSettings draws a user's settings of a channel, except the line and the labels.
func drawSettings(t *rapid.T, ends bool) state.UserSettings {
	level := rapid.SampledFrom([]events.Level{events.LevelAll, events.LevelMentions, events.LevelNone})
	since := func(label string) state.Since {
		if rapid.Bool().Draw(t, label+" by a head") {
			return state.Since{Is: true, HeadSeq: rapid.Uint32Min(1).Draw(t, label)}
		}
		at := rapid.Int64Range(-1<<40, 1<<40).Draw(t, label)
		s := state.Since{Is: true, At: at, Horizon: at + rapid.Int64Range(-1<<30, 1<<40).Draw(t, label+" lapses")}
		if s.Ends = ends; ends {
			s.Now = at + rapid.Int64Range(0, 1<<40).Draw(t, label+" arrives")
		}
		return s
	}
	s := state.UserSettings{Lasting: level.Draw(t, "lasting"), IgnoreAll: rapid.Bool().Draw(t, "ignores all")}
	if rapid.Bool().Draw(t, "until stated") {
		s.Until, s.Timed = rapid.Int64Range(1, 1<<50).Draw(t, "until"), level.Draw(t, "timed")
	}
	if rapid.Bool().Draw(t, "flagged") {
		s.Flag = since("flag")
	}
	if rapid.Bool().Draw(t, "filed") {
		s.Filed = state.File(since("filed"), rapid.Bool().Draw(t, "keep"))
	}
	return s
}

// TestRowBytes: decoding gives the same row with its other parts. Its Muted agrees with its level.
func TestRowBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, all := drawRow(t)
		ends := rapid.Bool().Draw(t, "the log ends")
		x := &state.PairExtra{}
		if rapid.Bool().Draw(t, "own read") {
			x.Read = &state.OwnPost{Seq: rapid.Uint32Min(1).Draw(t, "own read seq"), At: rapid.Int64().Draw(t, "own read at")}
		}
		if rapid.Bool().Draw(t, "says") {
			if s := drawSettings(t, ends); !s.Plain() {
				if x.Settings = &s; s.Level() == events.LevelNone {
					want.Flags |= state.RowMuted
				}
			}
		}
		b := AppendRow([]byte("before"), &want, &all, x)
		if !bytes.HasPrefix(b, []byte("before")) {
			t.Fatal("AppendRow wrote over what was there")
		}
		p := newState()
		p.Settings.TrimLog = ends
		var got state.Row
		r := wire.Reader{B: b[len("before"):]}
		ReadRow(&r, &got, p)
		if err := r.Done(); err != nil {
			t.Fatal(err)
		}
		extra := p.ExtraOfPair(&got)
		whole := *p.Whole(&got)
		whole.Extra = 0
		if implied := all == *p.Whole(&want); extra == nil && implied != (got.Rare == 0) {
			t.Fatalf("the row implies the rest: %t, and has a Rare of its own: %t", implied, got.Rare != 0)
		}
		if got.Rare = 0; got != want || whole != all {
			t.Fatalf("got  %+v, %+v\nwant %+v, %+v", got, whole, want, all)
		}
		if x.Read == nil && x.Settings == nil {
			if extra != nil {
				t.Fatalf("the row has %+v besides, and had nothing", extra)
			}
			return
		}
		if !reflect.DeepEqual(extra.Read, x.Read) {
			t.Fatalf("the own post is %+v, want %+v", extra.Read, x.Read)
		}
		if (extra.Settings == nil) != (x.Settings == nil) || x.Settings != nil && !extra.Settings.Equal(x.Settings) {
			t.Fatalf("it says %+v, want %+v", extra.Settings, x.Settings)
		}
		if x.Settings != nil && (x.Settings.Filed.Is != (extra.Settings.Filed.Found != nil)) {
			t.Fatal("a filing that was loaded has no room for what is found of it")
		}
	})
}

// TestRowCutShort: no prefix of a record is taken for a whole one.
func TestRowCutShort(t *testing.T) {
	row := state.Row{Baseline: 300, Flags: state.RowMember | state.RowMuted}
	row.SetOwn(390, 1<<41)
	row.Place(400, 1<<41, 1001)
	all := state.Rare{
		OwnFloor: 380, Marks: 3, LastR: 501, LastD: 70, Public: 200, PublicAt: 1 << 40, Far: 500,
	}
	x := &state.PairExtra{Read: &state.OwnPost{Seq: 390, At: 1 << 41}, Settings: &state.UserSettings{
		Lasting: events.LevelNone, IgnoreAll: true, Flag: state.Since{Is: true, HeadSeq: 400},
		Filed: state.File(state.Since{Is: true, At: 1 << 41, Horizon: 1<<41 + 7}, true),
	}}
	b := AppendRow(nil, &row, &all, x)
	for cut := range b {
		r := wire.Reader{B: bytes.Clone(b[:cut])}
		var got state.Row
		if ReadRow(&r, &got, newState()); r.Done() == nil {
			t.Errorf("the first %d of %d bytes were taken for a row", cut, len(b))
		}
	}
}

// TestAnEmptyRowIsShort: most fields of a row are zero most of the time, and take no space then.
func TestAnEmptyRowIsShort(t *testing.T) {
	if b := AppendRow(nil, &state.Row{}, &state.Rare{}, nil); len(b) != 2 {
		t.Errorf("a row that says nothing takes %d bytes: %x", len(b), b)
	}
	plain := state.Row{Flags: state.RowMuted}
	if b := AppendRow(nil, &plain, &state.Rare{}, &state.PairExtra{Settings: &state.UserSettings{Lasting: events.LevelNone}}); len(b) != 2 {
		t.Errorf("a muting takes %d bytes: %x", len(b), b)
	}
}

// TestMutedRowBehindItsMarkers: the record of a line and labels may be loaded before the row, which
// has whether the channel is muted.
func TestMutedRowBehindItsMarkers(t *testing.T) {
	muted := state.Row{Flags: state.RowMuted}
	p := newState()
	var got state.Row
	p.LoadSettings(&got).Labels = []string{"work"}
	r := wire.Reader{B: AppendRow(nil, &muted, &state.Rare{}, nil)}
	ReadRow(&r, &got, p)
	if s := p.SettingsOf(&got); s.Level() != events.LevelNone || len(s.Labels) != 1 {
		t.Errorf("it says %+v", s)
	}
}

// TestFollowBytes: decoding gives the same follow. It has times only if the follow is explicit, and
// a log time and a start only if the log ends as well.
func TestFollowBytes(t *testing.T) {
	for _, want := range []state.Follow{
		{}, {Auto: 7}, {Flags: state.FollowStopped}, {Flags: state.FollowExplicit, Auto: 1 << 31, ExplicitTime: -3, ExplicitHorizon: 1 << 41, ExplicitAt: 9},
		{Flags: state.FollowExplicit, ExplicitTime: 1 << 40, ExplicitHorizon: 1 << 41, ExplicitAt: 9, ExplicitNow: 1<<41 - 1, Closed: 300},
	} {
		ends := want.ExplicitNow != 0
		b := AppendFollow(nil, &want, ends)
		var got state.Follow
		r := wire.Reader{B: b}
		if ReadFollow(&r, &got, ends); r.Done() != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, r.Err, want)
		}
		for cut := range b {
			r := wire.Reader{B: bytes.Clone(b[:cut])}
			if ReadFollow(&r, &got, ends); r.Done() == nil {
				t.Errorf("the first %d of %d bytes were taken for a follow", cut, len(b))
			}
		}
	}
}

// TestSkipRow: what SkipRow and SkimRow skip is what ReadRow reads, except rows with rare parts.
func TestSkipRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row, all := drawRow(t)
		b := append(AppendRow(nil, &row, &all, nil), "rest"...)
		r := wire.Reader{B: b}
		if !SkipRow(&r) || r.Err != nil || string(r.B) != "rest" {
			t.Fatalf("of %x, %q is left, error %v", b, r.B, r.Err)
		}
		r = wire.Reader{B: b}
		want := Skimmed{row.Flags&state.RowMember != 0, all.LastR, all.LastD}
		if got, ok := SkimRow(&r); !ok || r.Err != nil || string(r.B) != "rest" || got != want {
			t.Fatalf("of %x: %+v, want %+v, %q is left, error %v", b, got, want, r.B, r.Err)
		}
		rare := state.PairExtra{Read: &state.OwnPost{Seq: 1, At: 2}}
		if r = (wire.Reader{B: AppendRow(nil, &row, &all, &rare)}); SkipRow(&r) {
			t.Fatal("a row with rare parts was skipped")
		}
		if r = (wire.Reader{B: AppendRow(nil, &row, &all, &rare)}); second(SkimRow(&r)) {
			t.Fatal("a row with rare parts was skimmed")
		}
		if r = (wire.Reader{B: b[:rapid.IntRange(0, len(b)-5).Draw(t, "cut")]}); SkipRow(&r) && r.Err == nil {
			t.Fatal("a row that is cut short was skipped")
		}
		if r = (wire.Reader{B: b[:rapid.IntRange(0, len(b)-5).Draw(t, "cut")]}); second(SkimRow(&r)) && r.Err == nil {
			t.Fatal("a row that is cut short was skimmed")
		}
	})
}

// TestSkipRows: SkipRows counts the rows of a page, and refuses one that is cut short within a row or
// has a row with rare parts.
func TestSkipRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var page []byte
		ends := map[int]bool{0: true}
		n := rapid.IntRange(0, 5).Draw(t, "rows")
		for range n {
			row, all := drawRow(t)
			user := rapid.SampledFrom([]int{1, 7, 127, 128, 255}).Draw(t, "length of the user's id")
			page = AppendRow(wire.AppendBytes(page, make([]byte, user)), &row, &all, nil)
			ends[len(page)] = true
		}
		if rows, ok := SkipRows(page); !ok || int(rows) != n {
			t.Fatalf("%d rows, %v; want %d", rows, ok, n)
		}
		cut := rapid.IntRange(0, len(page)).Draw(t, "cut")
		if _, ok := SkipRows(page[:cut]); ok != ends[cut] {
			t.Fatalf("cut at %d of %d: %v", cut, len(page), ok)
		}
		row, all := drawRow(t)
		rare := AppendRow(wire.AppendBytes(page, []byte("u")), &row, &all, &state.PairExtra{Read: &state.OwnPost{Seq: 1, At: 2}})
		if _, ok := SkipRows(rare); ok {
			t.Fatal("a row with rare parts was skipped")
		}
		if _, ok := SkipRows(AppendRow(wire.AppendBytes(page, nil), &row, &all, nil)); ok {
			t.Fatal("a row without a user was skipped")
		}
	})
}

func second[A, B any](_ A, b B) B { return b }

// TestTimesThatCannotBe: a row has no room for a time outside of its range, so the record of one is
// damaged.
func TestTimesThatCannotBe(t *testing.T) {
	for at, fits := range map[int64]bool{-1: false, 0: true, state.MaxTime: true, state.MaxTime + 1: false} {
		for what, flag := range map[string]byte{"pointer": recPointer, "own post": recOwn} {
			b := binary.AppendUvarint([]byte{flag}, 0) // no baseline
			b = binary.AppendUvarint(b, 5)
			if flag == recOwn {
				b = binary.AppendUvarint(b, 0) // no floor
			}
			b = binary.AppendVarint(b, at)
			if flag == recPointer {
				b = binary.AppendUvarint(b, 8)
			}
			r := wire.Reader{B: b}
			var got state.Row
			if ReadRow(&r, &got, newState()); (r.Done() == nil) != fits {
				t.Errorf("%s at %d: %v", what, at, r.Err)
			} else if fits && max(got.At(), got.OwnAt()) != at {
				t.Errorf("%s at %d: read as %d and %d", what, at, got.At(), got.OwnAt())
			}
		}
	}
}
