package erase

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
	"github.com/tidemark/tidemark/snapshot"
)

// Config configures Run. User, Query, Kafka and Topics must be set.
type Config struct {
	User string
	// Channels, if there are any, limits the erasure to these channels.
	Channels []string
	DryRun   bool // find and report, and write nothing

	Query  queryv1connect.QueryServiceClient // of any node, with a token for services
	Kafka  *kgo.Client                       // its producer must partition as Kafka does and wait for all acks
	Topics processor.Topics
	Redis  *redis.Client // nil: Redis is left to the cache role
	// Snapshots is searched for snapshots from before the erasure; nil: there is no search.
	Snapshots *snapshot.Repository

	Patience time.Duration // how long the fold, and then the cache, may take; 30 s if zero
	Now      func() time.Time
	Report   func(phase string, done, total int) // may be nil
}

// Result is the outcome of an erasure.
type Result struct {
	User     string    `json:"user"`
	DryRun   bool      `json:"dry_run"`
	Channels []Channel `json:"channels"`
	Left     int       `json:"left"`    // channels that the user was a member of
	Erased   int       `json:"erased"`  // channels in which the user was erased
	Already  int       `json:"already"` // channels that had nothing of the user left
	Before   []string  `json:"before"`  // the last records of the inputs at the beginning, as tokens
	After    []string  `json:"after"`   // the last written records of each partition: tokens for after
	Redis    *Cached   `json:"redis,omitempty"`
	Remains  []Remains `json:"remains"`

	Snapshots []Stored `json:"snapshots"` // null: they were not searched
}

// Channel is a channel that held anything about the user, with the written records, as
// topic/partition/offset.
type Channel struct {
	ChannelID string `json:"channel_id"`
	Member    bool   `json:"member"` // the user was a member, and has left now
	Done      bool   `json:"done"`   // nothing was left to erase
	LeftAt    string `json:"left_at,omitempty"`
	ErasedAt  string `json:"erased_at,omitempty"`
}

// ErrUnknownChannel is wrapped if a named channel holds nothing about the user.
var ErrUnknownChannel = errors.New("the channel holds nothing about the user")

// Run erases a user. Events written before an error stay written; running it again continues.
func Run(ctx context.Context, c Config) (*Result, error) {
	r := newRun(c)
	if err := r.find(ctx); err != nil {
		return nil, err
	}
	if !c.DryRun {
		if err := r.write(ctx); err != nil {
			return r.res, err
		}
		if err := r.awaitFold(ctx); err != nil {
			return r.res, err
		}
		if c.Redis != nil {
			if err := r.uncache(ctx); err != nil {
				return r.res, err
			}
		}
	}
	if err := r.remains(ctx); err != nil {
		return r.res, fmt.Errorf("the remains of the user could not be determined: %w", err)
	}
	return r.res, nil
}

// run is one erasure.
type run struct {
	Config
	adm     *kadm.Client
	res     *Result
	threads []thread        // followed by the user
	inputs  int32           // partitions of each input
	erased  map[int32]int64 // partition -> offset of its last user_erased, which a dry run puts at the end of time
	early   map[int32]bool  // partitions in which an earlier run erased something
}

// thread names one by its channel.
type thread struct{ channel, id string }

func newRun(c Config) *run {
	if c.Patience <= 0 {
		c.Patience = 30 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Report == nil {
		c.Report = func(string, int, int) {}
	}
	return &run{Config: c, adm: kadm.NewClient(c.Kafka), res: &Result{User: c.User, DryRun: c.DryRun, Channels: []Channel{}, After: []string{}},
		erased: map[int32]int64{}, early: map[int32]bool{}}
}
