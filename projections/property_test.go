package projections_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/projections"
)

// defaultScripts is how many random scripts all properties of this file try together; the
// environment variable TIDEMARK_PROPERTY_SCRIPTS changes it.
const defaultScripts = 1000

// folded lists the parts of DESIGN §4.7 that the fold implements.
var folded = random.Folded()

// scripts runs a property over its share, in percent, of the random scripts.
func scripts(t *testing.T, share int, property func(*rapid.T, *random.Case)) {
	t.Helper()
	scriptsOf(t, share, random.DrawMore(folded...), property)
}

// scriptsOf is scripts for another kind of scripts.
func scriptsOf(t *testing.T, share int, draw func(*rapid.T) *random.Case, property func(*rapid.T, *random.Case)) {
	t.Helper()
	n := defaultScripts
	if s := os.Getenv("TIDEMARK_PROPERTY_SCRIPTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 {
			t.Fatalf("TIDEMARK_PROPERTY_SCRIPTS=%q is no number of scripts", s)
		}
	}
	random.Scripts(t, max(1, n*share/100), draw, property)
}

// interleaving draws an order of the log's records.
func interleaving(t *rapid.T, l *script.Log, label string) []script.Record {
	return l.Interleave(func(left []events.Input) int { return rapid.IntRange(0, len(left)-1).Draw(t, label) })
}

// ranThrough returns the bytes of a partition that folds everything, in an order of its own, and is
// cut once.
func ranThrough(t *rapid.T, c *random.Case) string {
	p := open(t, vfs.NewMem(), c.Settings)
	defer closePartition(t, p)
	fold(p, interleaving(t, &c.Log, "order"))
	cut(t, p)
	return dump(t, p)
}

// TestPropertyModel: after every event, in a random interleaving, every query has the model's
// answer (DESIGN §4.6, law 1), and exactly the changes were emitted.
func TestPropertyModel(t *testing.T) {
	scripts(t, 40, asTheModel)
}

func asTheModel(t *rapid.T, c *random.Case) {
	p := open(t, vfs.NewMem(), c.Settings)
	defer closePartition(t, p)
	m := model.New(c.Settings)
	published := newPublished()
	for _, r := range interleaving(t, &c.Log, "order") {
		published.before(m, &r)
		r.Fold(p)
		r.AddTo(m)
		at := fmt.Sprintf("after %s/%d  %s", r.Input, r.Offset, script.Format(&r))
		if d := m.Diff(p); d != "" {
			t.Fatalf("%s:\n%s", at, d)
		}
		published.drain(t, p, m, at, true)
		published.check(t, m, at)
	}
}

// TestPropertyInterleavings: state is a function of the position (law 3). Two interleavings of the
// same records have the same bytes at the same position, and the same deltas under the same stamp.
func TestPropertyInterleavings(t *testing.T) {
	scripts(t, 30, inAnyOrder)
}

func inAnyOrder(t *rapid.T, c *random.Case) {
	var p [2]*projections.Partition
	var published [2]*published
	for i := range p {
		p[i] = open(t, vfs.NewMem(), c.Settings)
		defer closePartition(t, p[i])
		published[i] = newPublished()
	}
	m := model.New(c.Settings)
	stops := rapid.IntRange(1, 3).Draw(t, "stops")
	var from [events.NumInputs]int
	for stop := range stops {
		var part script.Log
		for in := range part {
			to := len(c.Log[in])
			if stop < stops-1 {
				to = rapid.IntRange(from[in], to).Draw(t, "stop")
			}
			part[in] = c.Log[in][from[in]:to]
			from[in] = to
			for _, r := range part[in] {
				r.AddTo(m)
			}
		}
		at := fmt.Sprintf("at position %v", from)
		for i := range p {
			for _, r := range interleaving(t, &part, "order") {
				r.Fold(p[i])
				if rapid.IntRange(0, 3).Draw(t, "drain") == 3 {
					published[i].drain(t, p[i], m, at, false)
				}
			}
			published[i].drain(t, p[i], m, at, false)
			published[i].check(t, m, at)
			cut(t, p[i])
			if d := m.Diff(p[i]); d != "" {
				t.Fatalf("%s, interleaving %d:\n%s", at, i, d)
			}
		}
		if a, b := dump(t, p[0]), dump(t, p[1]); a != b {
			t.Fatalf("%s the bytes differ:\n%s\nand\n%s", at, a, b)
		}
	}
	for stamp, a := range published[0].stamped {
		if b, ok := published[1].stamped[stamp]; ok && a != b {
			t.Fatalf("two deltas have the stamp %s:\n%s\nand\n%s", stamp, a, b)
		}
	}
}

// TestPropertyRestart: a partition that is cut, closed or killed and opened again at any time ends
// with the same bytes as one without interruptions (law 8). As in the processor, records that were
// published are folded again without publishing, and readers miss nothing.
func TestPropertyRestart(t *testing.T) {
	scripts(t, 15, withRestarts)
}

func withRestarts(t *rapid.T, c *random.Case) {
	through := ranThrough(t, c)
	fs := vfs.NewMem()
	p := open(t, fs, c.Settings)
	defer func() { closePartition(t, p) }()
	m := model.New(c.Settings)
	output := newPublished()
	order := interleaving(t, &c.Log, "order")
	published := 0 // records whose deltas were drained
	for i := range order {
		order[i].Fold(p)
		order[i].AddTo(m)
		at := fmt.Sprintf("after %d records", i+1)
		then := rapid.IntRange(0, 9).Draw(t, "then")
		if then >= 4 && then <= 8 {
			output.drain(t, p, m, at, false)
			output.check(t, m, at)
			published = i + 1
		}
		if then == 7 || then == 8 {
			cut(t, p)
		}
		if then >= 8 {
			closePartition(t, p)
			p = open(t, fs, c.Settings)
			refold(t, p, order[:published], order[published:i+1])
			if d := m.Diff(p); d != "" {
				t.Fatalf("%s and a restart:\n%s", at, d)
			}
		}
	}
	output.drain(t, p, m, "at the end", false)
	output.check(t, m, "at the end")
	cut(t, p)
	if a, b := dump(t, p), through; a != b {
		t.Fatalf("the bytes differ with restarts:\n%s\nand without:\n%s", a, b)
	}
}

// refold folds the records that a reopened partition lacks. Records that were published are not
// published again.
func refold(t rapid.TB, p *projections.Partition, published, rest []script.Record) {
	pos := p.Position()
	missing := func(records []script.Record) (out []script.Record) {
		for _, r := range records {
			if r.Offset >= pos[r.Input] {
				out = append(out, r)
			}
		}
		return out
	}
	fold(p, missing(published))
	p.Drain(nil, true)
	fold(p, missing(rest))
}

// TestPropertySilent: a partition that settled its changes without publishing publishes, from then
// on, exactly the same as one that published everything, and has the same bytes.
func TestPropertySilent(t *testing.T) {
	scripts(t, 10, func(t *rapid.T, c *random.Case) {
		reader, silent := open(t, vfs.NewMem(), c.Settings), open(t, vfs.NewMem(), c.Settings)
		defer closePartition(t, reader)
		defer closePartition(t, silent)
		order := interleaving(t, &c.Log, "order")
		until := rapid.IntRange(0, len(order)).Draw(t, "silent until")
		silent.Quiet(until > 0 && rapid.Bool().Draw(t, "quiet"))
		drain := func(p *projections.Partition, full, records bool) string {
			var d projections.Deltas
			p.Drain(&d, full)
			if records {
				p.DrainRecords(&d)
			}
			var b strings.Builder
			for _, r := range d.Records {
				fmt.Fprintf(&b, "%d/%d %q = %x\n", r.Topic, r.Partition, r.Key, r.Value)
			}
			return b.String()
		}
		for i := range order {
			order[i].Fold(reader)
			order[i].Fold(silent)
			last := i+1 == until
			if !last && rapid.IntRange(0, 3).Draw(t, "drain") > 0 {
				continue
			}
			if i < until {
				drain(reader, true, false)
				silent.Drain(nil, true)
				if last {
					silent.Quiet(false)
				}
				continue
			}
			full, records := rapid.Bool().Draw(t, "full"), rapid.Bool().Draw(t, "records")
			if a, b := drain(reader, full, records), drain(silent, full, records); a != b {
				t.Fatalf("after %d records, of which %d in silence: told:\n%s\nand by the one that told everything:\n%s", i+1, until, b, a)
			}
		}
		if a, b := drain(reader, true, false), drain(silent, true, false); a != b {
			t.Fatalf("at the end, %d records in silence: told:\n%s\nand by the one that told everything:\n%s", until, b, a)
		}
		cut(t, reader)
		cut(t, silent)
		if a, b := dump(t, reader), dump(t, silent); a != b {
			t.Fatalf("the bytes differ in silence:\n%s\nand without:\n%s", b, a)
		}
	})
}

// TestPropertyDuplicates: every event applied twice changes nothing but the stamp (law 2). Only the
// epoch counts marks and flags, so they are not doubled.
func TestPropertyDuplicates(t *testing.T) {
	scripts(t, 15, func(t *rapid.T, c *random.Case) {
		// A post whose sender's clock is behind by more than the retention cannot be found again.
		c.Settings.IndexRetention = projections.DefaultSettings().IndexRetention
		once, twice := &random.Case{}, &random.Case{}
		for in := range c.Log {
			for _, r := range c.Log[in] {
				r.Offset *= 2
				once.Log[in] = append(once.Log[in], r)
				twice.Log[in] = append(twice.Log[in], r)
				if r.Read == nil || (r.Read.Kind != events.KindMarkedUnread && r.Read.Kind != events.KindFlagSet) {
					r.Offset++
					twice.Log[in] = append(twice.Log[in], r)
				}
			}
		}
		m := model.New(c.Settings)
		for in := range once.Log {
			for _, r := range once.Log[in] {
				r.AddTo(m)
			}
		}
		p := open(t, vfs.NewMem(), c.Settings)
		defer closePartition(t, p)
		fold(p, interleaving(t, &twice.Log, "order"))
		for _, channel := range m.Channels() {
			for _, user := range m.Users() {
				want, wantOK := m.View(user, channel)
				got, gotOK := p.View(user, channel)
				want.Stamp, got.Stamp = events.Stamp{}, events.Stamp{}
				if w, g := viewText(&want), viewText(&got); wantOK != gotOK || w != g {
					t.Fatalf("each event once:\n%s\ntwice:\n%s", w, g)
				}
			}
		}
	})
}

func closePartition(t rapid.TB, p *projections.Partition) {
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
