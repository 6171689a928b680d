package projections

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/loading"
)

// Fetch loads those of the named channels that are cold, so that the fold need not wait for the
// disk under the lock, once for each. It reads the store without the lock, several channels at the
// same time. The ids may repeat. Fetch changes nothing that an event would not change, and may be
// left out. Only the goroutine that folds calls it, without holding Lock.
func (p *Partition) Fetch(channels [][]byte) error {
	if p.rules.Cold.Count == 0 {
		return nil
	}
	var cold []*loading.List
	for _, id := range channels {
		if p.rules.ChannelOf(id) == 0 && p.rules.Cold.Has(id) {
			cold = append(cold, &loading.List{ID: bytes.Clone(id)})
		}
	}
	if len(cold) == 0 {
		return nil
	}
	slices.SortFunc(cold, func(a, b *loading.List) int { return bytes.Compare(a.ID, b.ID) })
	cold = slices.CompactFunc(cold, func(a, b *loading.List) bool { return bytes.Equal(a.ID, b.ID) })
	g, _ := guard.WithContext(context.Background())
	for part := range slices.Chunk(cold, max(fetchPart, (len(cold)+fetchers-1)/fetchers)) {
		g.Go("reading channels", func() error { return p.readAll(part) })
	}
	if err := g.Wait(); err != nil {
		return p.rules.FirstError(err)
	}
	t := &turn{p: p, cause: "fetch"}
	t.begin()
	defer t.end()
	for _, x := range cold {
		p.fetched = x
		p.rules.EnsureChannel(x.ID)
		t.spend(x.Len())
	}
	p.fetched = nil
	return p.rules.Err()
}

const (
	fetchers  = 4 // goroutines that read the store
	fetchPart = 8 // channels that are worth a goroutine
)

// readAll reads the records of some channels, which are in order.
func (p *Partition) readAll(cold []*loading.List) (err error) {
	it, err := p.records.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	var kb [keys.Buf]byte
	for _, x := range cold {
		prefix := keys.AppendHot(kb[:0], x.ID, 0)
		prefix = prefix[:len(prefix)-1]
		for ok := it.SeekGE(prefix); ok && bytes.HasPrefix(it.Key(), prefix); ok = it.Next() {
			x.Add(it.Key(), it.Value())
		}
		if err := it.Error(); err != nil {
			return err
		}
	}
	return nil
}
