package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// Verify works in these places below DataDir: ScratchPrefix begins the name of its directory.
// CopiesDir in it has the copies of the stores, named by processor.StoreDir. A node makes copies
// nowhere else (package admin).
const (
	ScratchPrefix = "verify-"
	CopiesDir     = "copies"
)

// verification is one call of Verify.
type verification struct {
	Config
	copies, rebuilt string
	locked          locks // without Checkpoint
	settings        projections.Settings
	until           map[int32]projections.Position
	redis           *redisCheck // the last one
	res             *Result
}

// rebuild folds the topics up to the positions of the copies; with resume, from the end of an
// earlier call.
func (v *verification) rebuild(ctx context.Context, partitions []int32, resume bool) ([]processor.Rebuilt, error) {
	return v.fold(ctx, v.rebuilt, partitions, v.until, resume)
}

// fold folds the topics into the stores below dir, up to until, or without it to the current ends
// of the logs.
func (v *verification) fold(ctx context.Context, dir string, partitions []int32, until map[int32]projections.Position, resume bool) ([]processor.Rebuilt, error) {
	return processor.Rebuild(ctx, processor.RebuildConfig{
		Config: processor.Config{Brokers: v.Brokers, ClientOptions: v.ClientOptions, Topics: v.Topics, DataDir: dir,
			Settings: v.settings, Skip: v.Skip, Logger: v.Logger},
		Partitions: partitions, Until: until, Resume: resume, AcceptGap: v.AcceptGap, Report: v.Report,
	})
}

// copy makes a copy of the store of each partition by hard links, and reads the positions and
// settings for the rebuild.
func (v *verification) copy(ctx context.Context, partitions []int32) (settings projections.Settings, err error) {
	settings, v.until = projections.DefaultSettings(), map[int32]projections.Position{}
	if err := private.MkdirAll(v.copies); err != nil {
		return settings, err
	}
	known := false
	for _, n := range partitions {
		to := processor.StoreDir(v.copies, n)
		if err := v.checkpoint(ctx, n, to); err != nil {
			return settings, err
		}
		x, err := projections.InspectHeader(to, nil)
		if errors.Is(err, projections.ErrEmpty) {
			v.until[n] = projections.Position{}
			continue
		}
		if err != nil {
			return settings, fmt.Errorf("%s cannot be read, so its position is unknown: `tidemark replay --partition %d --swap` "+
				"rebuilds it: %w", processor.StoreDir(v.DataDir, n), n, err)
		}
		v.until[n] = x.Position
		if !known {
			settings, known = x.Identity.Settings, true
		}
	}
	return settings, nil
}

func (v *verification) checkpoint(ctx context.Context, n int32, to string) error {
	switch {
	case v.Checkpoint != nil:
		return v.Checkpoint(ctx, n, to)
	case v.locked[n] == nil:
		return fmt.Errorf("there is no store at %s", processor.StoreDir(v.DataDir, n))
	}
	return v.locked[n].Checkpoint(to)
}

// partition compares one partition.
func (v *verification) partition(r processor.Rebuilt) (err error) {
	if r.Err != nil {
		return fmt.Errorf("partition %d is not compared: %w", r.Partition, r.Err)
	}
	found := Verified{Partition: r.Partition, Position: r.Until, Digest: fmt.Sprintf("%x", r.Digest)}
	defer func() { v.res.Partitions = append(v.res.Partitions, found) }()
	is := func(d projections.Difference) bool {
		found.Differences++
		v.res.add(v.Limit, Difference{Where: "store", Partition: r.Partition, Channel: d.Channel, User: d.User, Field: d.Field, Is: d.A, Want: d.B})
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
	return nil
}

// repair replaces differing stores. free releases the stores.
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
