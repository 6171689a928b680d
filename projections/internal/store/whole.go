package store

import (
	"io"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
)

// abandonPatience is how long Abandon waits for the database to close after a panic.
const abandonPatience = time.Second

// Whole runs read on a database that was just opened. If read fails or panics, Whole closes the
// database, nothing more is written to it, and a panic becomes an error.
func (f *Fuse) Whole(db io.Closer, read func() error) error {
	err := guard.Err("the loading of its store", read)
	switch {
	case guard.Of(err) != nil:
		f.Abandon(db, err)
	case err != nil:
		f.Blow(err) // the disk must stay as it is
		_ = db.Close()
	}
	return err
}

// Abandon closes a database after a panic. If the panic was inside Pebble, Pebble's locks may be
// held forever and Close may wait for them; then the database stays in memory as it is. In either
// case it writes nothing any more, and its directory can be opened again.
func (f *Fuse) Abandon(db io.Closer, panicked error) {
	f.Blow(panicked)
	closed := make(chan struct{})
	done := func(*guard.Error) { close(closed) } // the first panic is the cause
	guard.Go("closing a store", done, func() {
		_ = db.Close()
		close(closed)
	})
	select {
	case <-closed:
	case <-time.After(abandonPatience):
	}
	_ = f.Unlock()
}
