package auth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/reread"
)

const (
	// refreshEvery is the age at which keys are read again in the background; at twice that age,
	// tokens wait for the reading. rushEvery is the least age at which a token with an unknown
	// signature makes the keys be read again. So callers do not wait long after a rotation, and
	// made-up tokens cause no more readings than that.
	refreshEvery = 20 * time.Second
	rushEvery    = 10 * time.Second
	// retryEvery is the least time between two attempts to read an unreadable file.
	retryEvery = time.Second
	// noteEvery is the time between two log lines about a repeated failure.
	noteEvery = 5 * time.Minute
	// fetchTimeout bounds one reading.
	fetchTimeout = 5 * time.Second
)

// Keys are the keys that tokens may be signed with. For every token, Keys checks whether the file
// has changed, and then reads it again. It reads an address at intervals, and when a token is
// signed with none of the keys. While reading fails, the last keys stay valid.
type Keys struct {
	read func(context.Context) ([]key, error)
	stat func() os.FileInfo // of a file, nil while there is none; nil for an address
	now  func() time.Time
	note func(error)

	mu      sync.Mutex
	keys    []key
	reading int // the number of readings
	readAt  time.Time
	seen    os.FileInfo // the file's state just before it was read
	trouble error       // why the last reading failed
	noted   time.Time
	busy    chan struct{} // closed when the reading in progress has ended; nil: there is none
}

// Open reads keys from a file or an https address. A file is a JWKS (JSON), public keys in PEM, or
// an HMAC secret of at least 32 bytes. An address over plain http must be on this machine. note is
// called, without any key, when a later reading fails; it may be nil.
func Open(ctx context.Context, source string, note func(error)) (*Keys, error) {
	k := &Keys{now: time.Now, note: note}
	if note == nil {
		k.note = func(error) {}
	}
	if source == "" {
		return nil, errors.New("no keys are named")
	}
	u, err := sourceOf(source)
	switch {
	case err != nil:
		return nil, fmt.Errorf("keys at %w", err)
	case u != nil:
		k.read = func(ctx context.Context) ([]key, error) { return fetchKeys(ctx, u) }
	default:
		k.read = func(context.Context) ([]key, error) { return readFile(source) }
		k.stat = func() os.FileInfo { info, _ := os.Stat(source); return info } // reading it reports the error
		k.seen = k.stat()
	}
	if k.keys, err = k.read(ctx); err != nil {
		return nil, err
	}
	k.readAt, k.reading = k.now(), 1
	return k, nil
}

// find returns the keys that may have signed a token with this kid and algorithm, and the number of
// their reading.
func (k *Keys) find(ctx context.Context, kid, algorithm string) (list []key, reading int) {
	return k.newer(ctx, kid, algorithm, 0)
}

// findNewer finds the keys for a token that no key of a reading has signed; none if there is no
// newer reading.
func (k *Keys) findNewer(ctx context.Context, kid, algorithm string, reading int) []key {
	list, now := k.newer(ctx, kid, algorithm, reading)
	if now == reading {
		return nil
	}
	return list
}

// newer finds keys, and reads them first if that is due. failed is the number of the reading whose
// keys did not fit; 0: none.
func (k *Keys) newer(ctx context.Context, kid, algorithm string, failed int) ([]key, int) {
	var file os.FileInfo
	if k.stat != nil {
		file = k.stat()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	found := match(k.keys, kid, algorithm)
	age := k.now().Sub(k.readAt)
	wanting := len(found) == 0 || failed > 0 && failed == k.reading
	wait := wanting && age > rushEvery || age > 2*refreshEvery
	if k.stat != nil {
		wait = wait || !reread.Same(file, k.seen) || k.trouble != nil && age > retryEvery
	}
	if !wait && age <= refreshEvery {
		return found, k.reading
	}
	busy := k.busy
	if busy == nil {
		busy = make(chan struct{})
		k.busy = busy
		guard.Go("the reading of keys", func(*guard.Error) {}, func() { k.refresh(busy) })
	}
	if !wait {
		return found, k.reading // the current keys are enough
	}
	k.mu.Unlock()
	select {
	case <-busy:
	case <-ctx.Done():
	}
	k.mu.Lock()
	if ctx.Err() != nil {
		return nil, k.reading
	}
	return match(k.keys, kid, algorithm), k.reading
}

func (k *Keys) refresh(busy chan struct{}) {
	defer close(busy)
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	var file os.FileInfo
	var keys []key
	err := guard.Err("the reading of keys", func() (err error) {
		if k.stat != nil {
			file = k.stat() // before the reading, so that a change during it causes another reading
		}
		keys, err = k.read(ctx)
		return err
	})
	if k.took(keys, file, err) {
		k.note(fmt.Errorf("the keys could not be read again, and the previous ones stay in use: %w", err))
	}
}

// took ends a reading and reports whether its failure should be logged. It clears busy whatever the
// outcome: while busy is set, no other reading begins.
func (k *Keys) took(keys []key, file os.FileInfo, err error) (tell bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.busy = nil
	now := k.now()
	if err == nil {
		k.keys = keys
		k.reading++
	}
	tell = err != nil && (k.trouble == nil || k.trouble.Error() != err.Error() || now.Sub(k.noted) >= noteEvery)
	if tell {
		k.noted = now
	}
	k.readAt, k.seen, k.trouble = now, file, err
	return tell
}

// poll reads the keys again if that is due, and waits for it.
func (k *Keys) poll(ctx context.Context) { k.newer(ctx, "", "", 0) }

// has reports whether a key is one of the current keys.
func (k *Keys) has(p fingerprint) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.keys, func(one key) bool { return one.print == p })
}

// match compares key ids as text: a kid names one of the keys that were read, never a file or an
// address. A token without a kid is tried with every key of its algorithm.
func match(keys []key, kid, algorithm string) (list []key) {
	for _, k := range keys {
		if string(k.algorithm) == algorithm && (kid == "" || k.id == "" || k.id == kid) {
			list = append(list, k)
		}
	}
	return list
}
