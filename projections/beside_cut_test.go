package projections_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/projections"
)

// TestPropertyQueriesBesideCuts: a cut is encoded and applied without the lock while two callers ask
// all queries. Each answer is the model's. The race detector finds what a cut changes and a query
// reads.
func TestPropertyQueriesBesideCuts(t *testing.T) {
	scripts(t, 5, func(t *rapid.T, c *random.Case) {
		p := open(t, vfs.NewMem(), c.Settings)
		defer closePartition(t, p)
		models := []*model.Model{model.New(c.Settings), model.New(c.Settings)}
		for i, r := range interleaving(t, &c.Log, "order") {
			r.Fold(p)
			for _, m := range models {
				r.AddTo(m)
			}
			if rapid.IntRange(0, 3).Draw(t, "then") > 0 {
				continue
			}
			if d := besideCut(p, models); d != "" {
				t.Fatalf("after %d records:\n%s", i+1, d)
			}
		}
	})
}

// besideCut cuts while a goroutine for each model asks, and returns what differs from the models.
func besideCut(p *projections.Partition, models []*model.Model) (differs string) {
	var d projections.Deltas
	p.Drain(&d, true)
	var asking sync.WaitGroup
	answers := make([]string, len(models))
	begun := make(chan struct{}, len(models))
	for i, m := range models {
		asking.Go(func() {
			for k := range 2 {
				p.RLock()
				if k == 0 {
					begun <- struct{}{}
				}
				answers[i] += m.Diff(p)
				p.RUnlock()
			}
		})
	}
	for range models {
		<-begun
	}
	c, err := p.Cut()
	if err == nil {
		err = c.Apply()
	}
	asking.Wait()
	if err != nil {
		return fmt.Sprintf("the cut: %v", err)
	}
	return strings.Join(answers, "")
}
