package bridge

import (
	"fmt"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// RefusedError is a reason that does not go away by itself.
type RefusedError struct{ error }

// Unwrap returns the reason.
func (r RefusedError) Unwrap() error { return r.error }

func refuse(format string, args ...any) error { return RefusedError{fmt.Errorf(format, args...)} }

// begin loads the state that the bridge goes on from, and refuses where it cannot.
func begin(conf *Config, state *importer.State, held *source.Held) (source.LSN, error) {
	name := conf.Product + "/" + conf.Slot
	if state == nil {
		return 0, refuse("there is no import %s in these topics: begin with `tidemark import %s --slot %s`, and the same --topic-prefix", name, conf.Product, conf.Slot)
	}
	if !state.Done() {
		return 0, refuse("the import %s is not done: give its command again, it goes on where it was; then start the bridge", name)
	}
	if state.Source != conf.Source {
		return 0, refuse("the import %s was of %s, and --source is %s", name, state.Source, conf.Source)
	}
	from, err := source.ParseLSN(state.LSN)
	if state.LSN == "" || err != nil {
		return 0, refuse("the import %s made no replication slot, so what changed since is not known: import again into fresh topics, with --slot", name)
	}
	if held == nil {
		return 0, refuse("the database has no replication slot %s any more: what changed since %v is lost to the bridge; import again into fresh topics, with --slot", conf.Slot, from)
	}
	if held.Status == "lost" {
		return 0, refuse("the database has removed WAL that the slot %s needs (max_slot_wal_keep_size): what changed since %v is lost to the bridge; "+
			"remove the slot with `tidemark import --drop-slot`, and import again into fresh topics", conf.Slot, from)
	}
	if held.Confirmed > from {
		return 0, refuse("somebody else has read the slot %s up to %v, and the bridge has written up to %v: what is between is lost to the bridge; "+
			"remove the slot with `tidemark import --drop-slot`, and import again into fresh topics", conf.Slot, held.Confirmed, from)
	}
	return from, nil
}
