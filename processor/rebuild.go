package processor

import (
	"context"

	"github.com/tidemark/tidemark/processor/internal/rebuild"
)

// RebuildConfig configures Rebuild. Of Config, Rebuild needs Brokers, DataDir and Settings, and the
// names of the inputs if they differ from those of package events. It ignores Group and everything
// about publishing.
type RebuildConfig = rebuild.Config

// RebuildProgress is how far a rebuild has come, over all of its partitions.
type RebuildProgress = rebuild.Progress

// Rebuilt is the result of one partition.
type Rebuilt = rebuild.Result

// Rebuild folds the topics into stores up to a given position, without a group and without
// publishing (DESIGN §12, replay). Its stores equal those of a node that was stopped there.
//
// A partition that cannot be rebuilt has its Err set and the others continue. The returned error is
// about all partitions: the topics do not fit, the brokers gave no answer, or ctx is done.
func Rebuild(ctx context.Context, c RebuildConfig) ([]Rebuilt, error) { return rebuild.Run(ctx, c) }
