package projections

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// seqSetModel is a seqset as a map.
type seqSetModel map[uint32]bool

func (m seqSetModel) sorted() []uint32 {
	var out []uint32
	for s := range m {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// checkSeqset compares every reading method with the model, around seq.
func checkSeqset(t *rapid.T, s *seqset, m seqSetModel, seq uint32) {
	all := m.sorted()
	rank := uint32(0)
	next := uint32(0)
	for _, v := range all {
		if v <= seq {
			rank++
		}
		if v >= seq && next == 0 {
			next = v
		}
	}
	absent, below := seq, seq
	for m[absent] {
		absent++
	}
	for below > 0 && m[below] {
		below--
	}
	switch {
	case s.count() != uint32(len(all)):
		t.Fatalf("count %d, want %d", s.count(), len(all))
	case s.contains(seq) != m[seq]:
		t.Fatalf("contains(%d) = %t", seq, !m[seq])
	case s.rank(seq) != rank, s.above(seq) != uint32(len(all))-rank:
		t.Fatalf("rank(%d) = %d, want %d", seq, s.rank(seq), rank)
	case s.next(seq) != next:
		t.Fatalf("next(%d) = %d, want %d", seq, s.next(seq), next)
	case s.nextAbsent(seq) != absent:
		t.Fatalf("nextAbsent(%d) = %d, want %d", seq, s.nextAbsent(seq), absent)
	case s.prevAbsent(seq) != below:
		t.Fatalf("prevAbsent(%d) = %d, want %d", seq, s.prevAbsent(seq), below)
	case len(all) > 0 && (s.min() != all[0] || s.max() != all[len(all)-1]):
		t.Fatalf("min %d max %d, want %d %d", s.min(), s.max(), all[0], all[len(all)-1])
	}
	var above []uint32
	for _, v := range all {
		if v > seq {
			above = append(above, v)
		}
	}
	if got := s.newest(nil, seq, 5); !slices.Equal(got, above[max(0, len(above)-5):]) {
		t.Fatalf("newest(%d, 5) = %v of %v", seq, got, above)
	}
}

// TestSeqset drives a set and a map through the same operations, small and large, within and across the ranges that
// are stored apart, and then through its stored form.
func TestSeqset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.SampledFrom([]uint32{20, 300, 200_000}).Draw(t, "top")
		at := rapid.Uint32Range(1, top)
		var s seqset
		m := seqSetModel{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			v := at.Draw(t, "seq")
			switch rapid.IntRange(0, 9).Draw(t, "op") {
			case 0:
				s.removeTo(v)
				for k := range m {
					if k <= v {
						delete(m, k)
					}
				}
			case 1:
				any := false
				for k := range m {
					if k >= v {
						any = true
						delete(m, k)
					}
				}
				if s.removeFrom(v) != any {
					t.Fatalf("removeFrom(%d) = %t", v, !any)
				}
			case 2, 3:
				if s.remove(v) != m[v] {
					t.Fatalf("remove(%d) = %t", v, !m[v])
				}
				delete(m, v)
			case 4:
				for i := v; i < v+70; i++ {
					s.add(i)
					m[i] = true
				}
			default:
				if s.add(v) == m[v] {
					t.Fatalf("add(%d) = %t", v, m[v])
				}
				m[v] = true
			}
			checkSeqset(t, &s, m, at.Draw(t, "probe"))
		}
		var again seqset
		for hi := range uint16(5) {
			enc := s.encode(nil, hi)
			if len(enc) == 0 {
				continue
			}
			if err := again.decode(hi, enc); err != nil {
				t.Fatal(err)
			}
		}
		for hi := range uint16(5) {
			if !bytes.Equal(s.encode(nil, hi), again.encode(nil, hi)) {
				t.Fatalf("range %d is stored in two ways", hi)
			}
		}
		if again.count() != s.count() {
			t.Fatalf("%d members after reading back, %d before", again.count(), s.count())
		}
	})
}

// TestSeqsetBitmap stores a set whose runs would take more than a bitmap.
func TestSeqsetBitmap(t *testing.T) {
	var s, again seqset
	for i := uint32(65536); i < 131072; i += 3 {
		s.add(i)
	}
	enc := s.encode(nil, 1)
	if len(enc) != 8193 {
		t.Fatalf("%d bytes", len(enc))
	}
	if err := again.decode(1, enc); err != nil {
		t.Fatal(err)
	}
	if again.count() != s.count() || again.min() != 65536 || !bytes.Equal(again.encode(nil, 1), enc) {
		t.Fatalf("read back %d members from %d", again.count(), again.min())
	}
}

// TestSeqsetDirty: the dirty ranges are exactly those that changed.
func TestSeqsetDirty(t *testing.T) {
	var s seqset
	for _, v := range []uint32{5, 70_000, 5} {
		s.add(v)
	}
	if !slices.Equal(s.dirty, []uint16{0, 1}) {
		t.Fatalf("dirty %v", s.dirty)
	}
	s.dirty = nil
	s.removeTo(70_000)
	slices.Sort(s.dirty)
	if !slices.Equal(s.dirty, []uint16{0, 1}) {
		t.Fatalf("dirty %v after removing all", s.dirty)
	}
}

// TestSeqsetCorrupt: records that no encoder writes are refused.
func TestSeqsetCorrupt(t *testing.T) {
	for _, v := range [][]byte{nil, {2}, {1, 0}, {0, 0x80}, {0, 1}, {0, 0xff, 0xff, 3, 0xff, 0xff, 3}} {
		var s seqset
		if err := s.decode(0, v); err == nil {
			t.Errorf("record %x was accepted", v)
		}
	}
}

// TestSeqsetCommon: of small sets, of big ones, and of big ones that have shrunk.
func TestSeqsetCommon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sets [2]seqset
		var models [2]seqSetModel
		near := rapid.SampledFrom([]uint32{1, 65_500, 1 << 31}).Draw(t, "near")
		for i := range sets {
			models[i] = seqSetModel{}
			first := near + rapid.Uint32Range(0, 150).Draw(t, "from")
			every := rapid.Uint32Range(1, 3).Draw(t, "every")
			for k := range rapid.SampledFrom([]uint32{0, 3, 60, 70, 200}).Draw(t, "members") {
				sets[i].add(first + k*every)
				models[i][first+k*every] = true
			}
			to := near + rapid.Uint32Range(0, 400).Draw(t, "removed to")
			if rapid.Bool().Draw(t, "removed") {
				sets[i].removeTo(to)
				for m := range models[i] {
					if m <= to {
						delete(models[i], m)
					}
				}
			}
		}
		seq := near + rapid.Uint32Range(0, 400).Draw(t, "above") - 1
		want := uint32(0)
		for m := range models[0] {
			if m > seq && models[1][m] {
				want++
			}
		}
		if a, b := sets[0].common(&sets[1], seq), sets[1].common(&sets[0], seq); a != want || b != want {
			t.Fatalf("%d and %d above %d, want %d, of %v and %v", a, b, seq, want, models[0].sorted(), models[1].sorted())
		}
	})
}
