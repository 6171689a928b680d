package projections

import (
	"github.com/tidemark/tidemark/projections/internal/loading"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// comeAndGo is the part of the limit that stays free once channels are cold: each one that comes back
// makes garbage, and a collector without room for it takes most of the CPU.
const comeAndGo = 6

// hotLimit returns how many bytes the channels in memory may take, or 0 for no limit. What stays
// when channels leave is subtracted, but an eighth of the limit is always for channels.
func (p *Partition) hotLimit() int64 {
	if p.memory == nil {
		return 0
	}
	limit := p.memory()
	if limit <= 0 {
		return 0
	}
	if p.rules.Cold.Pairs > 0 {
		limit -= limit / comeAndGo
	}
	fixed := loading.Fixed(&p.rules.State)
	if p.lister != nil {
		fixed += loading.PerListed * int64(p.lister.Left().Pairs)
	}
	return max(limit-fixed, limit/8, 1)
}

// Crowded returns how many times over its limit the memory of channels is: 1 when it is reached, 0
// without a limit. Only the goroutine that folds calls it.
func (p *Partition) Crowded() float64 {
	limit := p.hotLimit()
	if limit == 0 {
		return 0
	}
	return float64(loading.InUse(&p.rules.State)) / float64(limit)
}

// Rest takes channels out of memory until the rest fits into the limit of Options.Memory. A channel
// that an event has named since the last look gets a second chance. Only the goroutine that folds
// calls Rest. While a cut is not applied, Rest does nothing, because the store does not have all of
// the channels that the cut wrote. Cut calls Rest itself.
func (p *Partition) Rest() {
	limit := p.hotLimit()
	if limit == 0 || loading.InUse(&p.rules.State) <= limit || len(p.rules.ErasedPairs) > 0 || p.outstanding() {
		return
	}
	t := &turn{p: p, cause: "release"}
	t.begin()
	defer t.end()
	end := p.rules.Channels.End()
	for looked := uint32(0); looked < 2*end && loading.InUse(&p.rules.State) > limit-limit/8; looked++ {
		if p.hand++; p.hand >= end {
			p.hand = 1
		}
		if !p.rules.Channels.Has(p.hand) {
			continue
		}
		t.spend(1)
		c := p.rules.Channels.At(p.hand)
		if c.Dirty&state.ChannelUsed != 0 {
			c.Dirty &^= state.ChannelUsed
		} else if p.mayRest(p.hand, c) {
			p.evict(p.hand, t)
			p.leaveSome(t)
		}
	}
	p.leaveUsers(t)
	p.trim(t)
}

// outstanding reports whether a cut has not been applied yet. Another goroutine may be applying it.
func (p *Partition) outstanding() bool {
	p.RLock()
	defer p.RUnlock()
	return p.stored.Pending != nil
}
