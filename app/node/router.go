package node

import (
	"context"

	"github.com/tidemark/tidemark/processor"
)

// router answers for a node that folds nothing: it owns no partition and forwards every call to the
// owners. It uses a processor that never joins the group. The partition count is that of the topics
// at the start, because a group whose count changes is another group (DESIGN §12, reshard).
type router struct {
	*processor.Processor
	partitions int32
}

// Partitions is the partition count of the input topics.
func (r router) Partitions() int32 { return r.partitions }

// closeUnrun releases the resources of a processor that never ran. Run with a done context does
// nothing else.
func closeUnrun(p *processor.Processor) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.Run(ctx) // nothing was started that could fail
}
