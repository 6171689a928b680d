package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// Config says what Verify compares. Brokers and DataDir must be set.
type Config struct {
	Brokers       []string
	ClientOptions []kgo.Opt
	Topics        processor.Topics // empty names are those of package events
	// DataDir is that of a node that is stopped, or a copy of one. Room for a second store of each partition is needed in it.
	DataDir    string
	Partitions []int32 // nil: those that have a store in DataDir
	// Redis is compared as well; nil: it is not.
	Redis redis.UniversalClient
	// Repair puts the rebuilt store in the place of one that differs, and takes out of Redis what is wrong there.
	Repair bool
	// Limit is how many differences are told; the others are counted. 20 by default.
	Limit int
	// Skip and AcceptGap are as in processor.RebuildConfig.
	Skip      []processor.RecordID
	AcceptGap bool
	Logger    *slog.Logger
	Report    func(processor.RebuildProgress)
}

// Difference is one thing that is not what the topics say.
type Difference struct {
	Where     string `json:"where"` // "store" or "redis"
	Partition int32  `json:"partition"`
	Channel   string `json:"channel,omitempty"`
	User      string `json:"user,omitempty"`
	Field     string `json:"field"`
	Is        string `json:"is"`
	Want      string `json:"want"` // what the topics say
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

// Verified is what was found of one partition.
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

// Verify rebuilds each partition beside its store, up to the store's position, and compares: the digests, then record by
// record and, where these differ, what readers see; and what Redis holds with what the rebuilt stores say. It changes
// nothing unless it is to repair. The error is about what could not be compared.
func Verify(ctx context.Context, c Config) (res *Result, err error) {
	if c.Limit == 0 {
		c.Limit = 20
	}
	if c.Partitions == nil {
		if c.Partitions, err = processor.Stores(c.DataDir); err != nil {
			return nil, err
		}
		if len(c.Partitions) == 0 {
			return nil, fmt.Errorf("there is no store in %s", c.DataDir)
		}
	}
	held, err := lock(c.DataDir, c.Partitions)
	if err != nil {
		return nil, err
	}
	free := func() error { l := held; held = nil; return l.release() }
	defer func() { err = errors.Join(err, free()) }()
	scratch, err := os.MkdirTemp(c.DataDir, "verify-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()

	v := &verification{Config: c, copies: filepath.Join(scratch, "copies"), rebuilt: filepath.Join(scratch, "rebuilt"),
		res: &Result{Differences: []Difference{}}}
	settings, err := v.copy(held)
	if err != nil {
		return nil, err
	}
	if !c.Repair { // the copies are all that is needed: a node may start meanwhile
		if err := free(); err != nil {
			return nil, err
		}
	}
	list, err := processor.Rebuild(ctx, processor.RebuildConfig{
		Config: processor.Config{Brokers: c.Brokers, ClientOptions: c.ClientOptions, Topics: c.Topics, DataDir: v.rebuilt,
			Settings: settings, Skip: c.Skip, Logger: c.Logger},
		Partitions: c.Partitions, Until: v.until, AcceptGap: c.AcceptGap, Report: c.Report,
	})
	if err != nil {
		return nil, err
	}
	if c.Redis != nil {
		if v.redis, err = newRedisCheck(ctx, &v.Config, v.res); err != nil {
			return nil, err
		}
	}
	var errs []error
	for _, r := range list {
		errs = append(errs, v.partition(ctx, r))
	}
	if v.redis != nil {
		errs = append(errs, v.redis.strays(ctx))
	}
	if err := errors.Join(errs...); err != nil || !c.Repair {
		return v.res, err
	}
	return v.res, v.repair(ctx, free)
}

// verification is one call of Verify.
type verification struct {
	Config
	copies, rebuilt string
	until           map[int32]projections.Position
	redis           *redisCheck
	res             *Result
}

// copy makes a copy of each store, which costs no room, and learns up to where and with what settings to rebuild.
func (v *verification) copy(held locks) (settings projections.Settings, err error) {
	settings, v.until = projections.DefaultSettings(), map[int32]projections.Position{}
	if err := os.MkdirAll(v.copies, 0o755); err != nil {
		return settings, err
	}
	known := false
	for _, n := range v.Partitions {
		if held[n] == nil {
			return settings, fmt.Errorf("there is no store at %s", processor.StoreDir(v.DataDir, n))
		}
		to := processor.StoreDir(v.copies, n)
		if err := held[n].Checkpoint(to); err != nil {
			return settings, err
		}
		x, err := projections.InspectHeader(to, nil)
		if errors.Is(err, projections.ErrEmpty) {
			v.until[n] = projections.Position{}
			continue
		}
		if err != nil {
			return settings, fmt.Errorf("%s cannot be read, so nothing says up to where to compare: `tidemark replay --partition %d --swap` "+
				"rebuilds it: %w", processor.StoreDir(v.DataDir, n), n, err)
		}
		v.until[n] = x.Position
		if !known {
			settings, known = x.Identity.Settings, true
		}
	}
	return settings, nil
}

// partition compares one.
func (v *verification) partition(ctx context.Context, r processor.Rebuilt) (err error) {
	if r.Err != nil {
		return fmt.Errorf("partition %d is not compared: %w", r.Partition, r.Err)
	}
	found := Verified{Partition: r.Partition, Position: r.Until, Digest: fmt.Sprintf("%x", r.Digest)}
	defer func() { v.res.Partitions = append(v.res.Partitions, found) }()
	is := func(d projections.Difference) bool {
		found.Differences++
		v.res.add(v.Limit, Difference{"store", r.Partition, d.Channel, d.User, d.Field, d.A, d.B})
		return true
	}
	want, err := projections.Open(r.Dir, r.Identity, projections.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, want.Close()) }()
	got, err := projections.Open(processor.StoreDir(v.copies, r.Partition), r.Identity, projections.Options{})
	var mismatch *projections.MismatchError
	switch {
	case errors.As(err, &mismatch):
		return fmt.Errorf("partition %d is not compared: its store %s", r.Partition, mismatch.Detail)
	case err != nil:
		is(projections.Difference{Field: "the store", A: "damaged (" + strings.ReplaceAll(err.Error(), v.copies, v.DataDir) + ")", B: "what can be read"})
	default:
		defer func() { err = errors.Join(err, got.Close()) }()
		more, err := projections.Compare(got, want, is)
		if err != nil {
			is(projections.Difference{Field: "the store", A: "damaged (" + err.Error() + ")", B: "what can be read"})
		}
		if more > 0 {
			is(projections.Difference{Field: "channels", A: fmt.Sprintf("different in %d more", more), B: "otherwise"})
		}
	}
	if v.redis != nil {
		return v.redis.partition(ctx, r.Partition, want)
	}
	return nil
}

// repair replaces what differs. free lets go of the stores.
func (v *verification) repair(ctx context.Context, free func() error) error {
	var wrong []int32
	for _, p := range v.res.Partitions {
		if p.Differences > 0 {
			wrong = append(wrong, p.Partition)
		}
	}
	slices.SortFunc(wrong, cmp.Compare)
	if err := free(); err != nil {
		return err
	}
	if len(wrong) > 0 {
		v.res.Aside = Aside(v.DataDir, time.Now())
		if err := Swap(v.DataDir, v.rebuilt, wrong, v.res.Aside); err != nil {
			return err
		}
	}
	for i := range v.res.Partitions {
		p := &v.res.Partitions[i]
		p.Repaired = p.Differences > 0
	}
	if v.redis != nil {
		return v.redis.repair(ctx)
	}
	return nil
}
