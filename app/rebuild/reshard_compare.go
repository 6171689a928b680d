package rebuild

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// compare rebuilds from the old and from the new topics, and compares what every user sees.
func (r *resharding) compare(ctx context.Context) (err error) {
	r.res.Stores = filepath.Join(r.Dir, "new")
	old, closeOld, err := r.rebuilt(ctx, "old", r.From, r.Skip)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOld()) }()
	fresh, closeFresh, err := r.rebuilt(ctx, "new", r.To, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeFresh()) }()

	channels := 0
	for _, p := range old {
		p.Channels(func(id string, users []string) bool {
			r.res.Channels++
			r.res.Pairs += len(users)
			to := fresh[events.PartitionOf([]byte(id), r.Partitions)]
			for _, d := range projections.CompareChannel(p, to, id) {
				r.differs(Difference{Where: "reshard", Partition: to.Identity().Partition, Channel: id, User: d.User, Field: d.Field, Is: d.B, Want: d.A})
			}
			return true
		})
	}
	for _, p := range fresh {
		p.Channels(func(string, []string) bool { channels++; return true })
	}
	if channels != r.res.Channels {
		r.differs(Difference{Where: "reshard", Field: "channels", Is: fmt.Sprint(channels), Want: fmt.Sprint(r.res.Channels)})
	}
	return nil
}

func (r *resharding) differs(d Difference) {
	if r.res.Total++; len(r.res.Differences) < r.Limit {
		r.res.Differences = append(r.res.Differences, d)
	}
}

// rebuilt rebuilds from a set of topics and opens the stores.
func (r *resharding) rebuilt(ctx context.Context, name string, topics processor.Topics, skip []events.RecordID) (ps []*projections.Partition, closeAll func() error, err error) {
	closeAll = func() (err error) {
		for _, p := range ps {
			err = errors.Join(err, p.Close())
		}
		return err
	}
	c := processor.RebuildConfig{Config: processor.Config{Brokers: r.Brokers, ClientOptions: r.ClientOptions, Topics: topics,
		DataDir: filepath.Join(r.Dir, name), Settings: r.Settings, Skip: skip, Logger: r.Logger}}
	if r.Report != nil {
		c.Report = func(p processor.RebuildProgress) { r.Report("rebuild from "+name, p) }
	}
	list, err := processor.Rebuild(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range list {
		if b.Err != nil {
			return nil, nil, errors.Join(b.Err, closeAll())
		}
		p, err := projections.Open(b.Dir, b.Identity, projections.Options{})
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		ps = append(ps, p)
	}
	return ps, closeAll, nil
}
