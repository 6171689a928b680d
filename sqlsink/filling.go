package sqlsink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tidemark/tidemark/internal/sink"
)

// The reasons why a filling begins.
const (
	whyEmpty  = "empty"
	whyTopics = "topics"
)

// filling is one filling of the database, from empty to complete. It lasts until the database loses
// it. The next offset of each partition is stored beside the rows and is written with them.
type filling struct {
	id       string
	complete bool
}

type (
	partition = sink.Partition
	extent    = sink.Extent
)

// openFilling joins the filling that the database has, or begins one with id. why is empty if it
// joined; otherwise it is the reason for a new one. If the topics are the same, existing rows stay,
// because records that are read again have the same stamps. Stamps of other topics cannot be
// compared, so rows from other topics are removed.
func openFilling(ctx context.Context, tx pgx.Tx, id, topics string, partitions int) (f filling, why string, err error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(lockSchema)); err != nil {
		return f, "", err
	}
	if err := ensureSchema(ctx, tx); err != nil {
		return f, "", err
	}
	var were string
	err = tx.QueryRow(ctx, `SELECT filling, topics, complete_at IS NOT NULL FROM tidemark.identity`).Scan(&f.id, &were, &f.complete)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		why = whyEmpty
	case err != nil:
		return f, "", err
	case were == topics:
		return f, "", nil
	default:
		why = whyTopics
		if _, err := tx.Exec(ctx, `TRUNCATE tidemark.unread, tidemark.read_pointers, tidemark.channels, tidemark.receipts,
			tidemark.deleted_channels, tidemark.removed`); err != nil {
			return f, "", err
		}
	}
	for _, statement := range []string{`DELETE FROM tidemark.identity`, `DELETE FROM tidemark.positions`} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return f, "", err
		}
	}
	_, err = tx.Exec(ctx, `INSERT INTO tidemark.identity VALUES ($1, $2, $3, $4, now(), NULL)`, Version, id, topics, partitions)
	return filling{id: id}, why, err
}

// begin makes token the owner of partitions in place of any other owner, and returns the offset at
// which each continues. It waits for an open transaction of the previous owner. Use a new token for
// each begin: a member that gets a partition back must not mistake it for one that it kept.
func (f filling) begin(ctx context.Context, tx pgx.Tx, token string, parts []partition, logs []extent) ([]int64, error) {
	if err := f.holds(ctx, tx); err != nil {
		return nil, err
	}
	next := make([]int64, len(parts))
	for i, p := range parts {
		// A position beyond the log's end belongs to a log that no longer exists.
		err := tx.QueryRow(ctx, `INSERT INTO tidemark.positions AS p (topic, partition, next_offset, target, owner) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (topic, partition) DO UPDATE SET owner = excluded.owner,
				next_offset = CASE WHEN p.next_offset > excluded.target THEN excluded.next_offset ELSE greatest(p.next_offset, excluded.next_offset) END
			RETURNING next_offset`, p.Topic, p.Number, logs[i].Start, logs[i].End, token).Scan(&next[i])
		if err != nil {
			return nil, fmt.Errorf("begin %s: %w", p, err)
		}
	}
	return next, nil
}

// holds returns errReopen if the database has lost the filling or has another one.
func (f filling) holds(ctx context.Context, tx pgx.Tx) error {
	var id string
	err := tx.QueryRow(ctx, `SELECT filling FROM tidemark.identity FOR SHARE`).Scan(&id)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && id != f.id:
		return fmt.Errorf("%w: it was emptied or is being filled anew", errReopen)
	}
	return err
}

// step moves a partition from before to next: the database has every record below next.
type step struct {
	partition
	token        string
	before, next int64
}

// sortSteps puts steps into the order in which all members lock positions.
func sortSteps(steps []step) {
	slices.SortFunc(steps, func(a, b step) int { return a.Compare(b.partition) })
}

// lock locks the positions of steps for this transaction. It returns errReopen if a position has
// changed or has another owner.
func lock(ctx context.Context, tx pgx.Tx, steps []step) error {
	for _, s := range steps {
		var next int64
		var owner string
		err := tx.QueryRow(ctx, `SELECT next_offset, owner FROM tidemark.positions WHERE topic = $1 AND partition = $2 FOR UPDATE`,
			s.Topic, s.Number).Scan(&next, &owner)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return fmt.Errorf("%w: the position of %s is gone", errReopen, s.partition)
		case err != nil:
			return err
		case owner != s.token:
			return fmt.Errorf("%w: another member has taken %s", errReopen, s.partition)
		case next < s.before:
			return fmt.Errorf("%w: the position of %s is %d and was %d: was an older backup restored?", errReopen, s.partition, next, s.before)
		}
	}
	return nil
}

// advance moves the positions of steps, and reports whether the database is complete.
func advance(ctx context.Context, tx pgx.Tx, steps []step, complete bool) (bool, error) {
	for _, s := range steps {
		if _, err := tx.Exec(ctx, `UPDATE tidemark.positions SET next_offset = $3 WHERE topic = $1 AND partition = $2`, s.Topic, s.Number, s.next); err != nil {
			return false, err
		}
	}
	if complete {
		return true, nil
	}
	err := tx.QueryRow(ctx, `SELECT count(*) FILTER (WHERE next_offset >= target) >= (SELECT partitions FROM tidemark.identity) FROM tidemark.positions`).Scan(&complete)
	if err != nil || !complete {
		return false, err
	}
	_, err = tx.Exec(ctx, `UPDATE tidemark.identity SET complete_at = coalesce(complete_at, now())`)
	return true, err
}
