package projections

import (
	"io"
	"time"
)

// abandonPatience is how long the closing of a database is waited for in the middle of a panic.
const abandonPatience = time.Second

// whole runs f on a database that was opened just now. If f panics the panic goes on to whoever opens the store, who has
// nothing in hand to close: so the database is closed here, or its directory would stay locked as long as the process lives.
func whole(db io.Closer, f func() error) (err error) {
	ended := false
	defer func() {
		if !ended {
			abandon(db)
		}
	}()
	err = f()
	ended = true
	return err
}

// abandon closes a database in the middle of a panic. Where the panic was in Pebble itself, what it held there is held for
// good, and Close may wait for that: then the database is left as it is, rather than its partition for ever on the way.
func abandon(db io.Closer) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		defer func() { _ = recover() }() // the panic that is on its way says what is wrong
		_ = db.Close()
	}()
	select {
	case <-closed:
	case <-time.After(abandonPatience):
	}
}
