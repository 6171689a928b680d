package records

import (
	"bytes"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// TestMarkers: decoding gives the same line and labels. Without them there is no record.
func TestMarkers(t *testing.T) {
	for _, want := range []state.UserSettings{
		{Line: state.Line{ID: "m1"}}, {Line: state.Line{Seq: 1 << 31}}, {Labels: []string{"home", "work"}},
		{Line: state.Line{ID: "m1", Seq: 7}, Labels: []string{""}},
	} {
		b := AppendMarkers(nil, &want)
		var got state.UserSettings
		r := wire.Reader{B: b}
		if ReadMarkers(&r, &got); r.Done() != nil || !got.Equal(&want) {
			t.Errorf("got %+v, %v; want %+v", got, r.Err, want)
		}
		for cut := range b {
			r := wire.Reader{B: bytes.Clone(b[:cut])}
			if ReadMarkers(&r, &got); r.Done() == nil {
				t.Errorf("%+v: the first %d of %d bytes were taken for it", want, cut, len(b))
			}
		}
	}
	for _, none := range []*state.UserSettings{nil, {}, {IgnoreAll: true, Until: 5}} {
		if b := AppendMarkers(nil, none); len(b) != 0 {
			t.Errorf("%+v: a record of no line and no labels: %x", none, b)
		}
	}
}

// TestLabels: labels keep their order. Decoding ends if the count exceeds the labels.
func TestLabels(t *testing.T) {
	want := []string{"b", "a", ""}
	r := wire.Reader{B: AppendLabels(nil, want)}
	if got := ReadLabels(&r); !slices.Equal(got, want) || r.Done() != nil {
		t.Errorf("got %q, %v", got, r.Err)
	}
	r = wire.Reader{B: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 'a'}}
	if got := ReadLabels(&r); len(got) > 2 || r.Done() == nil {
		t.Errorf("of a list that is cut short: %q, %v", got, r.Err)
	}
}

// TestHiddenTo: there is a record only if something is hidden.
func TestHiddenTo(t *testing.T) {
	if b := AppendHiddenTo(nil, &state.Hidden{}); len(b) != 0 {
		t.Errorf("a record of nothing: %x", b)
	}
	r := wire.Reader{B: AppendHiddenTo(nil, &state.Hidden{To: 300})}
	if got := r.U32(); got != 300 || r.Done() != nil {
		t.Errorf("got %d, %v", got, r.Err)
	}
}
