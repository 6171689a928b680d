package processor

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/processor/internal/group"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/processor/internal/steps"
)

func (p *Processor) worker(n int32) *steps.Worker {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.workers[n]
}

// hold runs f while no partition can be given away. is reports whether an inbox is that of a
// partition's worker.
func (p *Processor) hold(f func(is func(b *inbox.Inbox) bool)) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	f(func(b *inbox.Inbox) bool {
		w := p.workers[b.Partition]
		return w != nil && w.Inbox == b
	})
}

func (p *Processor) owned() []*steps.Worker {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.inOrder()
}

// inOrder returns the workers of the partitions that this process owns. The caller holds mu.
func (p *Processor) inOrder() []*steps.Worker {
	ws := make([]*steps.Worker, 0, len(p.workers))
	for _, w := range p.workers {
		ws = append(ws, w)
	}
	slices.SortFunc(ws, func(a, b *steps.Worker) int { return int(a.Number - b.Number) })
	return ws
}

func (p *Processor) ownedNumbers() []int32 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Sorted(maps.Keys(p.workers))
}

// newWorker creates the worker of a partition that this process now owns or tails. client fetches
// its records. The caller holds mu.
func (p *Processor) newWorker(number int32, client *kgo.Client) *steps.Worker {
	return steps.New(p.engine, host{p}, number, client, p.leaving[number])
}

func numbersOf(ws []*steps.Worker) (numbers []int32) {
	for _, w := range ws {
		numbers = append(numbers, w.Number)
	}
	return numbers
}

// resume undoes the pauses of partitions, which outlive a rebalance.
func (p *Processor) resume(numbers []int32) {
	all := map[string][]int32{}
	for _, topic := range p.cfg.Topics.Inputs {
		all[topic] = slices.Clone(numbers)
	}
	if len(numbers) > 0 {
		p.consumer.ResumeFetchPartitions(all)
	}
}

// share divides the memory for fetched records among the partitions. The caller holds mu.
func (p *Processor) share() {
	partitions := len(p.workers) + len(p.standbys.workers)
	for _, of := range []map[int32]*steps.Worker{p.workers, p.standbys.workers} {
		for _, w := range of {
			w.Inbox.SetMax(p.cfg.InputBytes(partitions))
		}
	}
}

// noteStores adds partitions to the stores that the next join publishes to the group. The caller
// holds mu.
func (p *Processor) noteStores(numbers []int32) {
	p.storesOnDisk = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(p.storesOnDisk), numbers...))))
	p.balancer.SetData(memberData(p.cfg, p.relayKey, p.storesOnDisk))
}

// memberData returns the metadata of this member in the group.
func memberData(c *setup.Checked, relayKey string, stores []int32) group.MemberData {
	return group.MemberData{
		Advertise: c.Advertise, RelayKey: relayKey, Stores: stores, Standbys: c.Standbys, Settings: c.Settings.String(),
	}
}

func (p *Processor) pause(number int32) { p.consumer.PauseFetchPartitions(p.inputsOf(number)) }

// inputsOf returns the inputs of one partition in the client's form.
func (p *Processor) inputsOf(number int32) map[string][]int32 {
	all := map[string][]int32{}
	for _, topic := range p.cfg.Topics.Inputs {
		all[topic] = []int32{number}
	}
	return all
}
