package projections

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// compared opens two stores with the same records, changes the first through Pebble directly, and
// compares them.
func compared(t *testing.T, change func(db *pebble.DB) error, diverge func(p *Partition)) []string {
	t.Helper()
	var ps [2]*Partition
	for i := range ps {
		fs := vfs.NewMem()
		p := mustOpen(t, fs, testIdentity())
		formatsLog(t, p)
		if i == 0 && diverge != nil {
			diverge(p)
			mustCut(t, p)
		}
		if i == 0 && change != nil {
			if err := change(p.db); err != nil {
				t.Fatal(err)
			}
		}
		ps[i] = p
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	var lines []string
	if _, err := Compare(ps[0], ps[1], func(d Difference) bool {
		lines = append(lines, d.String())
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestCompareEqualStores(t *testing.T) {
	if got := compared(t, nil, nil); len(got) != 0 {
		t.Errorf("equal stores differ: %q", got)
	}
}

// TestCompareSaysWhatAReaderSees: the two stores have folded different records at the same offset.
func TestCompareSaysWhatAReaderSees(t *testing.T) {
	seq := func(p *Partition, n uint32) {
		e := events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("c"), UserID: []byte("ann"), OccurredAt: 5000, Target: events.TargetSeq, Seq: n}
		p.rules.FoldRead(&e, 3, 5000) // at the offset of the last record of formatsLog, so the positions are equal
	}
	got := compared(t, nil, func(p *Partition) { seq(p, 17) })
	want := []string{
		`channel "c", user "ann", unread: 1, 12`,
		`channel "c", user "ann", last_read: m17 (seq 17), m2 (seq 2)`,
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%q is not in\n%s", w, strings.Join(got, "\n"))
		}
	}
	for _, line := range got {
		if !strings.HasPrefix(line, `channel "c", user "ann"`) {
			t.Errorf("%q is not about the user whose pointer moved", line)
		}
	}
}

// TestCompareSaysWhichRecords: a difference that no view shows is reported as a record, whichever
// store lacks it.
func TestCompareSaysWhichRecords(t *testing.T) {
	got := compared(t, func(db *pebble.DB) error {
		return errors.Join(db.Delete(keys.AppendIndex(nil, []byte("c"), []byte("m2")), pebble.NoSync),
			db.Set(keys.AppendIndex(nil, []byte("d"), []byte("x")), []byte{1}, pebble.NoSync))
	}, nil)
	if len(got) != 2 || !strings.HasPrefix(got[0], `channel "c", record message index "m2": none, `) ||
		!strings.HasPrefix(got[1], `channel "d", record message index "x": 1 bytes`) {
		t.Errorf("%q", got)
	}
}

func TestCompareOtherPositions(t *testing.T) {
	got := compared(t, nil, func(p *Partition) { p.rules.Skip(events.Deliveries, 7) })
	if len(got) != 1 || got[0] != "position: [20 4 7], [20 4 0]" {
		t.Errorf("%q", got)
	}
}

func TestCompareEnoughIsEnough(t *testing.T) {
	fs := vfs.NewMem()
	p := mustOpen(t, fs, testIdentity())
	formatsLog(t, p)
	q := mustOpen(t, vfs.NewMem(), testIdentity())
	n := 0
	if _, err := Compare(p, q, func(Difference) bool { n++; return false }); err != nil || n != 1 {
		t.Errorf("%d differences, %v", n, err)
	}
	if err := errors.Join(p.Close(), q.Close()); err != nil {
		t.Error(err)
	}
}

func TestChannelsAndTheirUsers(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	formatsLog(t, p)
	var all []string
	p.Channels(func(id string, users []string) bool {
		all = append(all, id+": "+strings.Join(users, " "))
		return true
	})
	if !slices.Equal(all, []string{"c: ann bob guest"}) {
		t.Errorf("%q", all)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
