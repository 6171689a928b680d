package node

import (
	"context"

	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/query"
)

// queries is a processor as the query service sees it.
type queries struct{ *processor.Processor }

// Watch is the processor's, as the interface that package query asks for.
func (q queries) Watch(p int32, userID string) (query.Watcher, error) {
	w, err := q.Processor.Watch(p, userID)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// router answers for a node that folds nothing: it owns no partition and forwards all calls to those who do. It asks
// a processor that never joins its group, and knows the partition count from the topics as they were at the start: a
// group whose count changes is another group (DESIGN §12, reshard).
type router struct {
	queries
	partitions int32
}

// Partitions is the partition count of the input topics.
func (r router) Partitions() int32 { return r.partitions }

// closeUnrun releases what a processor holds that was never run: with a context that is done, all that Run does is that.
func closeUnrun(p *processor.Processor) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.Run(ctx) // nothing was begun that could fail
}
