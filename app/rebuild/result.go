package rebuild

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// Config configures Verify. Brokers and DataDir must be set.
type Config struct {
	Brokers       []string
	ClientOptions []kgo.Opt
	Topics        processor.Topics // empty names are those of package events
	// DataDir is that of a node that is stopped, a copy of one, or with Checkpoint that of a node
	// that runs. Room for a second store of each partition is needed in it.
	DataDir    string
	Partitions []int32 // nil: those that have a store in DataDir
	// Checkpoint makes dir, below DataDir, a copy of the store of a partition as of some moment:
	// the node that runs on DataDir is asked for it. nil: nothing runs there, and the stores are
	// locked while they are copied.
	Checkpoint func(ctx context.Context, partition int32, dir string) error
	// Redis is compared as well; nil: it is not.
	Redis redis.UniversalClient
	// Repair replaces a store that differs by the rebuilt one, and removes wrong values from Redis.
	// The node must be stopped.
	Repair bool
	// Limit is how many differences are reported; the others are counted. 20 by default.
	Limit int
	// Skip and AcceptGap are as in processor.RebuildConfig.
	Skip      []events.RecordID
	AcceptGap bool
	Logger    *slog.Logger
	Report    func(processor.RebuildProgress)
}

// Difference is one value that differs from the rebuild.
type Difference struct {
	Where     string `json:"where"` // "store" or "redis"
	Partition int32  `json:"partition"`
	Channel   string `json:"channel,omitempty"`
	User      string `json:"user,omitempty"`
	Field     string `json:"field"`
	Is        string `json:"is"`
	Want      string `json:"want"` // what the topics say

	thread string // of the user's, if it is about one in Redis; Field names it
}

// String is the difference in one line.
func (d Difference) String() string {
	of := []string{fmt.Sprintf("%s, partition %d", d.Where, d.Partition)}
	if d.Channel != "" {
		of = append(of, fmt.Sprintf("channel %q", d.Channel))
	}
	if d.User != "" {
		of = append(of, fmt.Sprintf("user %q", d.User))
	}
	return fmt.Sprintf("%s: %s is %s, the topics say %s", strings.Join(of, ", "), d.Field, d.Is, d.Want)
}

// Verified is the result for one partition.
type Verified struct {
	Partition   int32                `json:"partition"`
	Position    projections.Position `json:"position"` // up to which it was rebuilt
	Digest      string               `json:"digest"`   // of the rebuilt store
	Differences int                  `json:"differences"`
	Repaired    bool                 `json:"repaired"`
}

// Result is what Verify found.
type Result struct {
	Partitions  []Verified   `json:"partitions"`
	Redis       *RedisResult `json:"redis,omitempty"`
	Differences []Difference `json:"differences"` // the first of each partition, up to the limit
	Total       int          `json:"total"`       // of differences
	Aside       string       `json:"aside,omitempty"`
}

func (r *Result) add(limit int, d Difference) {
	if r.Total++; len(r.Differences) < limit {
		r.Differences = append(r.Differences, d)
	}
}
