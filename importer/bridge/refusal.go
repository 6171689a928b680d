package bridge

import (
	"fmt"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// RefusedError is an error that only a person can resolve.
type RefusedError struct{ error }

// Unwrap returns the reason.
func (r RefusedError) Unwrap() error { return r.error }

func refuse(format string, args ...any) error { return RefusedError{fmt.Errorf(format, args...)} }

// begin loads the state from which the bridge continues. It refuses if the bridge cannot.
func begin(conf *Config, state *importer.State, retained *source.Retained) (source.LSN, error) {
	name := conf.Product + "/" + conf.Slot
	if err := imported(conf, state, "--slot "+conf.Slot); err != nil {
		return 0, err
	}
	from, err := source.ParseLSN(state.LSN)
	if state.LSN == "" || err != nil {
		return 0, refuse("the import %s made no replication slot, so later changes are unknown: import again into fresh topics, with --slot", name)
	}
	if retained == nil {
		return 0, refuse("the database has no replication slot %s any more: changes since %v are lost to the bridge; import again into fresh topics, with --slot", conf.Slot, from)
	}
	if retained.Status == "lost" {
		return 0, refuse("the database has removed WAL that the slot %s needs (max_slot_wal_keep_size): changes since %v are lost to the bridge; "+
			"remove the slot with `tidemark import --drop-slot`, and import again into fresh topics", conf.Slot, from)
	}
	if retained.Confirmed > from {
		return 0, refuse("somebody else has read the slot %s up to %v, and the bridge has written up to %v: changes in between are lost to the bridge; "+
			"remove the slot with `tidemark import --drop-slot`, and import again into fresh topics", conf.Slot, retained.Confirmed, from)
	}
	return from, nil
}

// imported refuses if there is no import to continue from.
func imported(conf *Config, state *importer.State, flag string) error {
	name := conf.Product + "/" + conf.Slot
	if state == nil {
		return refuse("there is no import %s in these topics: begin with `tidemark import %s %s`, and the same --topic-prefix", name, conf.Product, flag)
	}
	if !state.Done() {
		return refuse("the import %s is not finished: run its command again, which continues it; then start the bridge", name)
	}
	if state.Source != conf.Source {
		return refuse("the import %s read %s, and --source is %s", name, state.Source, conf.Source)
	}
	return nil
}

// beginFeed refuses if Debezium's topics cannot be followed from the state.
func beginFeed(conf *Config, state *importer.State) error {
	if err := imported(conf, state, "--source "+conf.Source); err != nil {
		return err
	}
	if state.LSN != "" {
		return refuse("the import %s has a replication slot, from which a bridge with --slot continues: for --debezium, import into fresh topics without --slot", state.Name())
	}
	return nil
}
