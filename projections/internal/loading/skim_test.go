package loading

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/rules"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// TestWhatMayStayInTheStore: a channel stays in the store only if its records are its own and those of
// all members, and nothing in it may wait.
func TestWhatMayStayInTheStore(t *testing.T) {
	const ords = keys.PageLen + 3
	type channel struct {
		flags         byte
		head, counted uint64
		present       uint64
		lastM         uint64
	}
	whole := channel{head: 5, counted: 5, present: ords - 1, lastM: 9}
	page := func(from, n int) (b []byte) {
		for i := range n {
			r := state.Row{Flags: state.RowMember}
			if from+i == 1 {
				r.Flags = 0 // has left
			}
			id := fmt.Sprintf("u%d", from+i)
			b = records.AppendRow(append(binary.AppendUvarint(b, uint64(len(id))), id...), &r, &state.Rare{LastR: int64(from + i)}, nil) //nolint:gosec // short
		}
		return b
	}
	for name, c := range map[string]struct {
		with   func(c *channel)
		pages  [][]byte
		others []byte // kinds of other records
		want   bool
	}{
		"all of it":            {pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)}, want: true},
		"large":                {with: func(c *channel) { c.flags = state.ChannelLarge }, pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)}, want: true},
		"deleted":              {with: func(c *channel) { c.flags = state.ChannelDeleted }, pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)}},
		"seeded":               {with: func(c *channel) { c.flags = state.ChannelSeeded }, pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)}},
		"updated":              {with: func(c *channel) { c.flags = state.ChannelUpdated }, pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)}},
		"not announced":        {with: func(c *channel) { c.lastM = 0 }, pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)}},
		"uncounted messages":   {with: func(c *channel) { c.counted = 4 }, pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)}},
		"another number":       {with: func(c *channel) { c.present++ }, pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)}},
		"no pages":             {},
		"the last page lost":   {pages: [][]byte{page(0, keys.PageLen)}},
		"the first page lost":  {pages: [][]byte{nil, page(keys.PageLen, 3)}},
		"a short page":         {pages: [][]byte{page(0, keys.PageLen-1), page(keys.PageLen, 4)}},
		"a page too long":      {pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 4)}},
		"a page that is cut":   {pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)[:10]}},
		"mentions":             {pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)}, others: []byte{keys.HotMentions}},
		"a guest":              {pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)}, others: []byte{keys.HotGuest}},
		"held events":          {pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)}, others: []byte{keys.HotPending}},
		"messages to everyone": {pages: [][]byte{page(0, keys.PageLen), page(keys.PageLen, 3)}, others: []byte{keys.HotAlls}},
	} {
		t.Run(name, func(t *testing.T) {
			is := whole
			if c.with != nil {
				c.with(&is)
			}
			s := &skimmer{Loader: Loader{Fold: &rules.Fold{}}}
			x := &s.list
			x.ID = []byte("c")
			all := map[string][]byte{}
			var own []byte
			for _, v := range []uint64{is.head, is.counted, 5, 0, is.present, ords, is.lastM} {
				own = binary.AppendUvarint(own, v)
			}
			all[string(keys.AppendHot(nil, x.ID, keys.HotChannel))] = append([]byte{is.flags}, own...)
			for i, b := range c.pages {
				if b != nil {
					all[string(keys.AppendPage(nil, x.ID, uint32(i)))] = b //nolint:gosec // few
				}
			}
			for _, kind := range c.others {
				all[string(append(keys.AppendHot(nil, x.ID, kind), "u1"...))] = []byte{1}
			}
			for _, key := range slices.Sorted(maps.Keys(all)) {
				x.Add([]byte(key), all[key])
			}
			if got, quick := s.read(false), s.read(true); got != c.want || quick != (c.want || name == "another number") {
				t.Errorf("it may stay: %v, at a quick look %v, want %v", got, quick, c.want)
			}
			s.read(false)
			if c.want && (len(s.members) != ords || s.members[7].lastR != 7 || string(s.members[ords-1].id) != fmt.Sprintf("u%d", ords-1) || s.lastM != 9) {
				t.Errorf("it has %d members, last record %d", len(s.members), s.lastM)
			}
		})
	}
}
