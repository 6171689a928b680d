package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/source"
)

const (
	patience    = 10 * time.Second       // how long a broker may take to answer
	gather      = 20 * time.Millisecond  // how long a batch waits for the next transaction
	listen      = time.Second            // how long to wait for the first one
	saveEvery   = 10 * time.Second       // how often a position is saved while no relevant change comes
	askEvery    = 10 * time.Second       // how often the database's backlog is read
	batchEvents = 5000                   // a batch ends after the transaction that reaches this number
	batchTime   = 250 * time.Millisecond // or at this age
	txTimeout   = 30 * time.Second       // after this time the brokers abort a batch; readers of the topics wait this long for a dead bridge
	partChanges = 2000                   // changes of one database transaction that are written at once
)

// changes is a source of a database's changes.
type changes interface {
	// Next returns the next transaction, nil if none comes within the given time.
	Next(ctx context.Context, wait time.Duration) (*source.Transaction, error)
	// Idle returns a position up to which there is no further change, or 0 if there may be one.
	Idle() source.LSN
	// Confirm states that everything before a position is written.
	Confirm(ctx context.Context, at source.LSN) error
	Close(ctx context.Context)
}

// knowing is a mapping that must remember what it has seen.
type knowing interface {
	// Restore gives it what was remembered.
	Restore(known map[string]string)
	// Changed returns what has to be remembered since the last call; "" is to be forgotten.
	Changed() map[string]string
}

// session is one connection to the database and one producer.
type session struct {
	*Bridge
	cl     *kgo.Client
	states *importer.States
	state  *importer.State
	stream changes
	feed   *feed // the stream, if it reads Debezium's topics
	now    *source.Now
	live   product.Live
	memory knowing          // live, if it must remember; else nil
	counts map[string]int32 // partitions of the topics

	at       source.LSN // everything before it is written
	part     int        // plus this many changes of the next transaction
	batch    *batch
	problems importer.Problems
	savedAt  time.Time
	askedAt  time.Time
	loggedAt time.Time
	reported int64
}

// session follows the database until something fails.
func (b *Bridge) session(ctx context.Context) (err error) {
	s := &session{Bridge: b}
	defer func() { s.close(ctx) }()
	if err := s.open(ctx); err != nil {
		return err
	}
	b.status.follows(nil)
	b.conf.Log.Info("the bridge follows the database", "product", b.conf.Product, "slot", b.conf.Slot, "from", s.at.String())
	for {
		if err := s.step(ctx); err != nil {
			return err
		}
	}
}

// open fences earlier bridges, loads their state, and begins to read from there.
func (s *session) open(ctx context.Context) (err error) {
	conf := &s.conf
	s.cl, err = conf.Kafka.Client(ctx, patience,
		kgo.DisableClientMetrics(), kgo.TransactionalID("tidemark-bridge-"+conf.Prefix+conf.Product+"-"+conf.Slot), kgo.TransactionTimeout(txTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(events.MaxValueBytes+64<<10),
		kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, txTimeout)
	defer cancel()
	if _, _, err := s.cl.ProducerID(wait); err != nil { // this aborts an open batch of an earlier bridge
		return fmt.Errorf("fencing earlier bridges: %w", err)
	}
	s.states = importer.OpenStates(importer.Config{Kafka: conf.Kafka, Prefix: conf.Prefix, Product: conf.Product, Slot: conf.Slot}, s.cl)
	if s.state, err = s.states.Load(ctx); err != nil {
		return err
	}
	if s.counts, err = s.states.Partitions(ctx); err != nil {
		return err
	}
	if conf.Product != rocketChat {
		if s.now, err = source.OpenNow(ctx, conf.DSN); err != nil {
			return err
		}
	}
	if s.live, err = conf.live(ctx, s.now); err != nil {
		return err
	}
	if s.memory, _ = s.live.(knowing); s.memory != nil {
		known, err := s.states.Known(ctx)
		if err != nil {
			return err
		}
		s.memory.Restore(known)
	}
	s.savedAt = time.Now()
	if conf.Debezium != "" {
		return s.openFeed(ctx)
	}
	return s.openSlot(ctx)
}

// openSlot begins to read the slot.
func (s *session) openSlot(ctx context.Context) (err error) {
	conf := &s.conf
	retained, err := s.now.Retained(ctx, conf.Slot)
	if err != nil && !errors.Is(err, source.ErrNoSlot) {
		return err
	}
	if s.at, err = begin(conf, s.state, retained); err != nil {
		return err
	}
	if err := source.CheckPublications(ctx, conf.DSN, conf.Slot, conf.follows()); err != nil {
		return err
	}
	s.part = s.state.Part
	stream, err := source.OpenStream(ctx, conf.DSN, conf.Slot, s.at)
	if err == nil {
		s.stream = stream
	}
	return err
}

// openFeed begins to read Debezium's topics.
func (s *session) openFeed(ctx context.Context) (err error) {
	if err := beginFeed(&s.conf, s.state); err != nil {
		return err
	}
	s.part = s.state.Part
	if s.feed, err = openFeed(ctx, &s.conf, s.state); err != nil {
		return err
	}
	s.stream, s.at = s.feed, s.feed.last
	return nil
}

func (s *session) close(ctx context.Context) {
	if s.stream != nil {
		s.stream.Close(ctx)
	}
	if s.now != nil {
		_ = s.now.Close(ctx) // it was only read
	}
	if s.cl != nil {
		s.abort(ctx)
		s.cl.Close()
	}
}

// step waits for the next transaction of the database, and writes due batches.
func (s *session) step(ctx context.Context) error {
	wait := listen
	if s.batch != nil {
		wait = gather
	}
	tx, err := s.stream.Next(ctx, wait)
	if err != nil {
		return err
	}
	if tx != nil {
		if err := s.await(ctx, tx); err != nil {
			return err
		}
		if err := s.take(ctx, tx); err != nil {
			return err
		}
	}
	if b := s.batch; b != nil && (tx == nil || b.events >= batchEvents || time.Since(b.begun) > batchTime) {
		if err := s.commit(ctx); err != nil {
			return err
		}
	}
	if tx == nil && s.batch == nil {
		if err := s.rest(ctx); err != nil {
			return err
		}
	}
	return s.ask(ctx)
}

// rest saves the position at intervals while no relevant change comes, so that the database can
// remove its log.
func (s *session) rest(ctx context.Context) error {
	s.status.caughtUp()
	if s.conf.reached != nil && s.conf.reached(max(s.at, s.stream.Idle())) {
		return errReached
	}
	if idle := s.stream.Idle(); idle > s.at && time.Since(s.savedAt) >= saveEvery {
		s.at = idle
		s.begin()
		return s.commit(ctx)
	}
	return nil
}

// ask reads the database's backlog at intervals.
func (s *session) ask(ctx context.Context) error {
	if time.Since(s.askedAt) < askEvery {
		return nil
	}
	s.askedAt = time.Now()
	if s.feed != nil {
		if time.Since(s.loggedAt) >= logEvery {
			s.loggedAt = time.Now()
			s.status.logState(s.conf.Log, nil)
		}
		return nil
	}
	retained, err := s.now.Retained(ctx, s.conf.Slot)
	if err != nil {
		return err
	}
	s.status.holds(retained)
	if time.Since(s.loggedAt) >= logEvery {
		s.loggedAt = time.Now()
		s.status.logState(s.conf.Log, retained)
	}
	return nil
}
