package erase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// Remains is a place that still has something of the user.
type Remains struct {
	Where string     `json:"where"`
	What  string     `json:"what"`
	Until *time.Time `json:"until,omitempty"` // when it disappears by itself; not set: see For
	For   string     `json:"for,omitempty"`   // the event that ends it, if there is no time
}

// remains lists the remaining places and until when, by the topics' configuration at the brokers
// and the list of snapshots.
func (r *run) remains(ctx context.Context) error {
	topics := append(slices.Clone(r.Topics.Inputs[:]), r.Topics.Unread, r.Topics.Channels, r.Topics.Receipts, r.Topics.DeadLetters)
	configs, err := kafkaadmin.Configs(ctx, r.adm, topics...)
	if err != nil {
		return err
	}
	add := func(topic, what string) {
		values, ok := configs[topic]
		if !ok {
			return // there is no such topic
		}
		m := Remains{Where: "topic " + topic, What: what}
		m.Until, m.For = r.keptUntil(values)
		r.res.Remains = append(r.res.Remains, m)
	}
	add(r.Topics.Inputs[events.Messages], "their messages with texts, mentions of them, and that they joined and left")
	add(r.Topics.Inputs[events.Reads], "what they read, and the erasure itself")
	add(r.Topics.Inputs[events.Deliveries], "what was delivered to them")
	add(r.Topics.Receipts, "their receipts")
	add(r.Topics.DeadLetters, "bad records that name them")
	r.compacted(configs)
	if _, ok := configs[r.Topics.Channels]; ok {
		r.res.Remains = append(r.res.Remains, Remains{Where: "topic " + r.Topics.Channels, What: "sender and first 140 characters of a message of theirs that is a channel's newest",
			For: "until there is a newer one"})
	}
	r.res.Remains = append(r.res.Remains,
		Remains{Where: "stores of all nodes", What: "sender and first 140 characters of their messages", For: "until they leave the index (90 days), are deleted or purged"},
		Remains{Where: "stores of all nodes", What: "their id in each channel, marked as erased, and in lists of mentions", For: "for good: it keeps a replay from bringing them back"},
	)
	if r.Redis != nil && !r.DryRun {
		until := r.Now().Add(24 * time.Hour)
		r.res.Remains = append(r.res.Remains, Remains{Where: "Redis", What: "the ids of channels they left (inbox-gone), with stamps", Until: &until})
	}
	return r.snapshots(ctx)
}

// keptUntil returns until when a topic keeps a record that is written now.
func (r *run) keptUntil(config map[string]string) (*time.Time, string) {
	ms, err := strconv.ParseInt(config["retention.ms"], 10, 64)
	if err != nil {
		return nil, "not known: the brokers state retention.ms " + strconv.Quote(config["retention.ms"])
	}
	if ms < 0 {
		return nil, "for good (retention.ms is -1)"
	}
	// A segment is deleted as a whole, retention.ms after its last record.
	if segment, err := strconv.ParseInt(config["segment.ms"], 10, 64); err == nil && segment > 0 {
		ms += segment
	}
	until := r.Now().Add(time.Duration(ms) * time.Millisecond)
	return &until, ""
}

// compacted adds the records in the topic of deltas: old values until compaction removes them, and
// the newest one for good.
func (r *run) compacted(configs map[string]map[string]string) {
	config, ok := configs[r.Topics.Unread]
	if !ok {
		return
	}
	old := Remains{Where: "topic " + r.Topics.Unread, What: "their numbers from before the erasure", For: "until it is compacted, for which the topic has no bound (max.compaction.lag.ms)"}
	// The broker's default is the largest possible number, which means no bound.
	if lag, err := strconv.ParseInt(config["max.compaction.lag.ms"], 10, 64); err == nil && lag < int64(100*365*24*time.Hour/time.Millisecond) {
		until := r.Now().Add(time.Duration(lag) * time.Millisecond)
		old.Until, old.For = &until, ""
	}
	r.res.Remains = append(r.res.Remains, old,
		Remains{Where: "topic " + r.Topics.Unread, What: "their id and those of their channels, with zeros", For: "for good (the topic is compacted)"})
}

// snapshots adds the snapshots from before the erasure.
func (r *run) snapshots(ctx context.Context) error {
	if r.Snapshots == nil {
		r.res.Remains = append(r.res.Remains, Remains{Where: "snapshots and other backups", What: "all of the above, as it was before", For: "until they are pruned (they were not looked at)"})
		return nil
	}
	partitions, err := r.Snapshots.Partitions(ctx)
	if err != nil {
		return err
	}
	r.res.Snapshots = []Stored{}
	var errs []error
	for _, n := range partitions {
		list, err := r.Snapshots.List(ctx, n)
		if err != nil {
			errs = append(errs, fmt.Errorf("snapshots of partition %d: %w", n, err))
			continue
		}
		for _, e := range list {
			where := fmt.Sprintf("snapshot of partition %d", n)
			erased := false
			if e.Manifest != nil {
				erased = r.erasedBefore(n, e.Manifest.Position()[events.Reads])
				r.res.Snapshots = append(r.res.Snapshots, Stored{n, e.Manifest.Position(), e.Manifest.Digest, e.Manifest.WrittenAt.UTC(), erased})
			}
			switch {
			case e.Manifest == nil:
				where += ", manifest unreadable"
			case erased:
				continue
			default:
				if r.early[n] {
					where = "perhaps the " + where // one of the erasures was made by an earlier run
				}
				v := e.Manifest.Position()
				where += fmt.Sprintf(", %d-%d-%d of %s", v[0], v[1], v[2], e.Manifest.WrittenAt.UTC().Format(time.RFC3339))
			}
			r.res.Remains = append(r.res.Remains, Remains{Where: where, What: "the state of the store at that time", For: "until it is pruned (tidemark snapshot prune)"})
		}
	}
	return errors.Join(errs...)
}

// erasedBefore reports whether a snapshot whose position in chat.reads is next includes all
// erasures of its partition. A partition without an erasure has nothing of the user. For a
// partition that an earlier run erased, the answer is unknown.
func (r *run) erasedBefore(partition int32, next int64) bool {
	switch at, any := r.erased[partition]; {
	case r.early[partition]:
		return false
	case any:
		return next > at
	}
	return true
}
