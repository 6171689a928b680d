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
	// tokens wait for the reading. rushEvery is the least age at which keys are read because a
	// token was signed with none of them: after a rotation callers do not wait long, and made-up
	// tokens cause no more readings than that.
	refreshEvery = 20 * time.Second
	rushEvery    = 10 * time.Second
	// retryEvery is how often at most a file is read that could not be.
	retryEvery = time.Second
	// noteEvery is how often a repeated failure of a reading is logged.
	noteEvery = 5 * time.Minute
	// fetchTimeout bounds one reading.
	fetchTimeout = 5 * time.Second
)

// Keys are the keys that tokens may be signed with. Every token checks whether their file has
// changed, and then reads it again. An address is read again now and then, and when a token was
// signed with none of the keys. While reading fails, the last keys stay valid.
type Keys struct {
	read func(context.Context) ([]key, error)
	stat func() os.FileInfo // of a file, nil while there is none; nil for an address
	now  func() time.Time
	note func(error)

	mu      sync.Mutex
	keys    []key
	reading int // how often they were read
	readAt  time.Time
	seen    os.FileInfo // the file, just before it was read
	trouble error       // why the last reading failed
	noted   time.Time
	busy    chan struct{} // closed when a reading that is under way has ended; nil: none is
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
		k.stat = func() os.FileInfo { info, _ := os.Stat(source); return info } // reading it says what is wrong
		k.seen = k.stat()
	}
	if k.keys, err = k.read(ctx); err != nil {
		return nil, err
	}
	k.readAt, k.reading = k.now(), 1
	return k, nil
}

// find returns the keys that a token with this kid and algorithm may have been signed with, and
// which reading they are of.
func (k *Keys) find(ctx context.Context, kid, algorithm string) (list []key, reading int) {
	return k.newer(ctx, kid, algorithm, 0)
}

// findNewer finds the keys for a token that none of the keys of a reading has signed, and none if
// there is no newer reading.
func (k *Keys) findNewer(ctx context.Context, kid, algorithm string, reading int) []key {
	list, now := k.newer(ctx, kid, algorithm, reading)
	if now == reading {
		return nil
	}
	return list
}

// newer finds keys, and reads them first if that is due. failed is the reading of keys that will
// not do; 0: none.
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
		return found, k.reading // the keys at hand will do
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
			file = k.stat() // before the reading: what changes during it is read once more
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

// poll has the keys read again if that is due, and waits until they are.
func (k *Keys) poll(ctx context.Context) { k.newer(ctx, "", "", 0) }

// has reports whether a key is one of the present keys.
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
