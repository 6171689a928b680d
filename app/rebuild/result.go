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
	Topics        processor.Topics // an empty name is that of package events
	// DataDir is the data directory of a stopped node, a copy of one, or with Checkpoint that of a
	// running node. It needs room for a second store of each partition.
	DataDir    string
	Partitions []int32 // nil: all with a store in DataDir
	// Checkpoint makes dir, below DataDir, a copy of the store of a partition, by a call to the
	// running node. nil: no node runs there, and the stores are locked while they are copied.
	Checkpoint func(ctx context.Context, partition int32, dir string) error
	// Redis is compared as well; nil: it is not.
	Redis redis.UniversalClient
	// Repair replaces a differing store with the rebuilt one, and removes wrong values from Redis.
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
	Want      string `json:"want"` // the value by the topics

	thread string // the user's thread, if the difference is about one in Redis; Field names it
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
	Position    projections.Position `json:"position"` // the rebuild's position
	Digest      string               `json:"digest"`   // of the rebuilt store
	Differences int                  `json:"differences"`
	Repaired    bool                 `json:"repaired"`
}

// Result is the result of Verify.
type Result struct {
	Partitions  []Verified   `json:"partitions"`
	Redis       *RedisResult `json:"redis,omitempty"`
	Differences []Difference `json:"differences"` // the first ones of each partition, up to the limit
	Total       int          `json:"total"`       // of differences
	Aside       string       `json:"aside,omitempty"`
}

func (r *Result) add(limit int, d Difference) {
	if r.Total++; len(r.Differences) < limit {
		r.Differences = append(r.Differences, d)
	}
}
