package seqset

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
func checkSeqset(t *rapid.T, s *Set, m seqSetModel, seq uint32) {
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
	case s.Count() != uint32(len(all)):
		t.Fatalf("count %d, want %d", s.Count(), len(all))
	case s.Contains(seq) != m[seq]:
		t.Fatalf("contains(%d) = %t", seq, !m[seq])
	case s.Rank(seq) != rank, s.Above(seq) != uint32(len(all))-rank:
		t.Fatalf("rank(%d) = %d, want %d", seq, s.Rank(seq), rank)
	case s.Next(seq) != next:
		t.Fatalf("next(%d) = %d, want %d", seq, s.Next(seq), next)
	case s.NextAbsent(seq) != absent:
		t.Fatalf("nextAbsent(%d) = %d, want %d", seq, s.NextAbsent(seq), absent)
	case s.PrevAbsent(seq) != below:
		t.Fatalf("prevAbsent(%d) = %d, want %d", seq, s.PrevAbsent(seq), below)
	case len(all) > 0 && (s.min() != all[0] || s.Max() != all[len(all)-1]):
		t.Fatalf("min %d max %d, want %d %d", s.min(), s.Max(), all[0], all[len(all)-1])
	}
	var above []uint32
	prev := uint32(0)
	for _, v := range all {
		if v > seq {
			above = append(above, v)
		} else {
			prev = v
		}
	}
	if s.Prev(seq) != prev {
		t.Fatalf("prev(%d) = %d, want %d", seq, s.Prev(seq), prev)
	}
	if got := s.Newest(nil, seq, 5); !slices.Equal(got, above[max(0, len(above)-5):]) {
		t.Fatalf("newest(%d, 5) = %v of %v", seq, got, above)
	}
}

// TestSeqset drives a set and a map through the same operations, small and large, within and across
// the ranges that are stored apart, and then through its stored form.
func TestSeqset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.SampledFrom([]uint32{20, 300, 200_000}).Draw(t, "top")
		at := rapid.Uint32Range(1, top)
		var s Set
		m := seqSetModel{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			v := at.Draw(t, "seq")
			switch rapid.IntRange(0, 9).Draw(t, "op") {
			case 0:
				s.RemoveTo(v)
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
				if s.RemoveFrom(v) != any {
					t.Fatalf("removeFrom(%d) = %t", v, !any)
				}
			case 2, 3:
				if s.Remove(v) != m[v] {
					t.Fatalf("remove(%d) = %t", v, !m[v])
				}
				delete(m, v)
			case 4:
				for i := v; i < v+70; i++ {
					s.Add(i)
					m[i] = true
				}
			default:
				if s.Add(v) == m[v] {
					t.Fatalf("add(%d) = %t", v, m[v])
				}
				m[v] = true
			}
			checkSeqset(t, &s, m, at.Draw(t, "probe"))
		}
		var again Set
		for hi := range uint16(5) {
			enc := s.Encode(nil, hi)
			if len(enc) == 0 {
				continue
			}
			if err := again.Decode(hi, enc); err != nil {
				t.Fatal(err)
			}
		}
		for hi := range uint16(5) {
			if !bytes.Equal(s.Encode(nil, hi), again.Encode(nil, hi)) {
				t.Fatalf("range %d is stored in two ways", hi)
			}
		}
		if again.Count() != s.Count() {
			t.Fatalf("%d members after reading back, %d before", again.Count(), s.Count())
		}
	})
}

// TestSeqsetBitmap stores a set whose runs would take more than a bitmap.
func TestSeqsetBitmap(t *testing.T) {
	var s, again Set
	for i := uint32(65536); i < 131072; i += 3 {
		s.Add(i)
	}
	enc := s.Encode(nil, 1)
	if len(enc) != 8193 {
		t.Fatalf("%d bytes", len(enc))
	}
	if err := again.Decode(1, enc); err != nil {
		t.Fatal(err)
	}
	if again.Count() != s.Count() || again.min() != 65536 || !bytes.Equal(again.Encode(nil, 1), enc) {
		t.Fatalf("read back %d members from %d", again.Count(), again.min())
	}
}

// TestSeqsetDirty: the dirty ranges are exactly those that changed.
func TestSeqsetDirty(t *testing.T) {
	var s Set
	for _, v := range []uint32{5, 70_000, 5} {
		s.Add(v)
	}
	if !slices.Equal(s.Dirty, []uint16{0, 1}) {
		t.Fatalf("dirty %v", s.Dirty)
	}
	s.Dirty = nil
	s.RemoveTo(70_000)
	slices.Sort(s.Dirty)
	if !slices.Equal(s.Dirty, []uint16{0, 1}) {
		t.Fatalf("dirty %v after removing all", s.Dirty)
	}
}

// TestSeqsetCorrupt: records that no encoder writes are refused.
func TestSeqsetCorrupt(t *testing.T) {
	for _, v := range [][]byte{nil, {2}, {1, 0}, {0, 0x80}, {0, 1}, {0, 0xff, 0xff, 3, 0xff, 0xff, 3}} {
		var s Set
		if err := s.Decode(0, v); err == nil {
			t.Errorf("record %x was accepted", v)
		}
	}
}

// TestSeqsetCommon: of small sets, of big ones, and of big ones that have shrunk.
func TestSeqsetCommon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sets [2]Set
		var models [2]seqSetModel
		near := rapid.SampledFrom([]uint32{1, 65_500, 1 << 31}).Draw(t, "near")
		for i := range sets {
			models[i] = seqSetModel{}
			first := near + rapid.Uint32Range(0, 150).Draw(t, "from")
			every := rapid.Uint32Range(1, 3).Draw(t, "every")
			for k := range rapid.SampledFrom([]uint32{0, 3, 60, 70, 200}).Draw(t, "members") {
				sets[i].Add(first + k*every)
				models[i][first+k*every] = true
			}
			to := near + rapid.Uint32Range(0, 400).Draw(t, "removed to")
			if rapid.Bool().Draw(t, "removed") {
				sets[i].RemoveTo(to)
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
		if a, b := sets[0].Common(&sets[1], seq), sets[1].Common(&sets[0], seq); a != want || b != want {
			t.Fatalf("%d and %d above %d, want %d, of %v and %v", a, b, seq, want, models[0].sorted(), models[1].sorted())
		}
	})
}
