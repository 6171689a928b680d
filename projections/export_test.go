package projections

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/cold"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/store"
)

// Beside returns an empty partition over the store of another empty one. Neither may be cut. It
// needs no opening, and you must not close it.
func Beside(p *Partition) *Partition {
	q := newPartition(p.id)
	q.db, q.records, q.fuse = p.db, p.db, p.fuse
	return q
}

// pebbleOptions returns the options with which a test opens a store's Pebble directly.
func pebbleOptions(dir string, o Options) *pebble.Options {
	return store.PebbleOptions(store.NewFuse(dir, o.store(), func(error) {}), o.store())
}

// CutIntoTables lets every cut become tables.
func (p *Partition) CutIntoTables() { p.writer.Large = 0 }

// ColdLogs returns how many channels are in memory because their logs wait to be trimmed, and how many
// cold channels have trimmed logs.
func (p *Partition) ColdLogs() (waiting, trimmed int) {
	for ci := range p.rules.Channels.End() {
		if ci > 0 && p.rules.Channels.Has(ci) && p.rules.LogWaits(p.rules.Channels.At(ci), p.rules.EndedAt(ci)) {
			waiting++
		}
	}
	p.rules.Cold.Channels.Each(func(_ uint32, c *cold.Channel) {
		if c.ID == 0 || c.Now != 0 {
			return
		}
		own, ok, err := p.rules.Get(keys.AppendHot(nil, p.rules.Blobs.Get(c.ID), keys.HotChannel))
		if err != nil || !ok {
			panic("a cold channel has no record")
		}
		if own[0]&state.ChannelTrimmed != 0 {
			trimmed++
		}
	})
	return waiting, trimmed
}
