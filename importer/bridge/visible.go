package bridge

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark/tidemark/importer/source"
)

const (
	visibleWithin = 10 * time.Second     // how long a committed transaction may stay invisible
	lookAgain     = 2 * time.Millisecond // time between two looks
)

// await waits until queries see a transaction of the database. The database streams a transaction as
// soon as it is in its log, and shows it to queries only afterwards: usually a moment later, with a
// synchronous standby once the standby has it.
func (s *session) await(ctx context.Context, tx *source.Transaction) error {
	if s.now == nil || tx.ID == 0 || len(tx.Changes) == 0 {
		return nil
	}
	seen, err := s.now.Sees(ctx, tx.ID)
	if seen || err != nil {
		return err
	}
	if s.batch != nil { // it must not stay open meanwhile
		if err := s.commit(ctx); err != nil {
			return err
		}
	}
	for begun := time.Now(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
		switch seen, err := s.now.Sees(ctx, tx.ID); {
		case seen || err != nil:
			return err
		case time.Since(begun) > s.conf.visible:
			return fmt.Errorf("the transaction %d is in the log of the database, but its queries have not seen it for %v: it waits for a synchronous standby, "+
				"or --source is not the database whose changes the bridge follows", tx.ID, s.conf.visible)
		}
	}
}
