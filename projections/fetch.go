package projections

import (
	"github.com/tidemark/tidemark/projections/internal/loading"
)

// AnyCold reports whether channels are cold. Only the goroutine that folds calls it.
func (p *Partition) AnyCold() bool { return p.rules.Cold.Count > 0 || !p.Listed() }

// Fetch loads those of the named channels that are cold, so that the fold need not wait for the
// disk under the lock, once for each. It reads the store without the lock, several channels at the
// same time. The ids may repeat. Fetch changes nothing that an event would not change, and may be
// left out. Only the goroutine that folds calls it, without holding Lock.
func (p *Partition) Fetch(channels [][]byte) error {
	if !p.AnyCold() {
		return nil
	}
	cold := p.lists.Of(&p.rules.State, channels)
	if len(cold) == 0 {
		return nil
	}
	cold, err := p.readLists(cold)
	if err != nil {
		return p.rules.FirstError(p.wrong(err))
	}
	t := &turn{p: p, cause: "fetch"}
	t.begin()
	defer t.end()
	for _, x := range cold {
		ci, c, err := loading.Loader{Fold: &p.rules}.List(x)
		if err != nil {
			return p.rules.FirstError(p.wrong(err))
		}
		if ci == 0 {
			continue
		}
		if ref := p.rules.Cold.Of(x.ID); ref != 0 {
			p.rules.Returned(ref, ci, c)
		} else {
			p.rules.Cold.Loaded++ // it was not listed yet
		}
		t.spend(x.Len() + int(c.Ords))
	}
	return p.rules.Err()
}

// readLists reads the records of cold channels. No cut that is not applied yet has any.
func (p *Partition) readLists(cold []*loading.List) ([]*loading.List, error) {
	return loading.Read(cold, func() (loading.Seeker, error) { return p.records.NewIter(nil) })
}
