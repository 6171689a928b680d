package auth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"sync"
	"time"
)

const (
	// refreshEvery is how old keys get before they are read again, beside the tokens that come; when they are twice as old,
	// tokens wait for that. rushEvery is how old they are at least when they are read because a token was signed with none
	// of them: after a rotation nobody waits long, and made-up tokens cause no more than that.
	refreshEvery = 5 * time.Minute
	rushEvery    = 10 * time.Second
	// retryEvery is how often at most a file is read that could not be.
	retryEvery = time.Second
	// fetchTimeout bounds one reading.
	fetchTimeout = 5 * time.Second
)

// Keys are the keys that tokens may be signed with. Those of a file are read again when the file has changed, which is looked
// at with every token; those of an address now and then, and when a token was signed with none of them. While that fails,
// those that were read last hold.
type Keys struct {
	read func(context.Context) ([]key, error)
	look func() os.FileInfo // of a file, nil while there is none; nil for an address
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

// Open reads keys from a file or an https address. A file is a JWKS (JSON), public keys in PEM, or an HMAC secret of at
// least 32 bytes. An address over plain http must be on this machine. note is told, without any key, when a later
// reading fails; it may be nil.
func Open(ctx context.Context, source string, note func(error)) (*Keys, error) {
	k := &Keys{now: time.Now, note: note}
	if note == nil {
		k.note = func(error) {}
	}
	u, err := url.Parse(source)
	switch {
	case source == "":
		return nil, errors.New("no keys are named")
	case err == nil && (u.Scheme == "https" || u.Scheme == "http"):
		if u.Scheme == "http" && !loopback(u.Hostname()) {
			return nil, fmt.Errorf("keys at %s: over plain http anybody on the way can replace them: use https", u.Redacted())
		}
		k.read = func(ctx context.Context) ([]key, error) { return fetch(ctx, u) }
	default:
		k.read = func(context.Context) ([]key, error) { return readFile(source) }
		k.look = func() os.FileInfo { info, _ := os.Stat(source); return info } // reading it says what is wrong
		k.seen = k.look()
	}
	if k.keys, err = k.read(ctx); err != nil {
		return nil, err
	}
	k.readAt, k.reading = k.now(), 1
	return k, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// find returns the keys that a token with this kid and algorithm may have been signed with, and which reading they are of.
func (k *Keys) find(ctx context.Context, kid, algorithm string) (list []any, reading int) {
	return k.newer(ctx, kid, algorithm, 0)
}

// again is find for a token that none of the keys of a reading has signed. It returns nothing if there are no newer ones.
func (k *Keys) again(ctx context.Context, kid, algorithm string, reading int) []any {
	list, now := k.newer(ctx, kid, algorithm, reading)
	if now == reading {
		return nil
	}
	return list
}

// newer finds keys, and reads them first if that is due. failed is the reading of keys that will not do; 0: none.
func (k *Keys) newer(ctx context.Context, kid, algorithm string, failed int) ([]any, int) {
	var file os.FileInfo
	if k.look != nil {
		file = k.look()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	found := match(k.keys, kid, algorithm)
	age := k.now().Sub(k.readAt)
	wanting := len(found) == 0 || failed > 0 && failed == k.reading
	wait := wanting && age > rushEvery || age > 2*refreshEvery
	if k.look != nil {
		wait = wait || !same(file, k.seen) || k.trouble != nil && age > retryEvery
	}
	if !wait && age <= refreshEvery {
		return found, k.reading
	}
	busy := k.busy
	if busy == nil {
		busy = make(chan struct{})
		k.busy = busy
		go k.refresh(busy)
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

// same reports whether two looks at a file saw the same content, as far as that shows.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func (k *Keys) refresh(busy chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	var file os.FileInfo
	if k.look != nil {
		file = k.look() // before the reading: what changes during it is read once more
	}
	keys, err := k.read(ctx)
	k.mu.Lock()
	now := k.now()
	if err == nil {
		k.keys = keys
		k.reading++
	}
	tell := err != nil && (k.trouble == nil || k.trouble.Error() != err.Error() || now.Sub(k.noted) >= refreshEvery)
	if tell {
		k.noted = now
	}
	k.readAt, k.seen, k.trouble, k.busy = now, file, err, nil
	k.mu.Unlock()
	if tell {
		k.note(fmt.Errorf("the keys could not be read again, those of before hold: %w", err))
	}
	close(busy)
}

// match compares ids as what they are, text: a kid names a key among those that were read, never a file or an address.
// A token without a kid is tried with every key of its algorithm.
func match(keys []key, kid, algorithm string) (list []any) {
	for _, k := range keys {
		if string(k.algorithm) == algorithm && (kid == "" || k.id == "" || k.id == kid) {
			list = append(list, k.material)
		}
	}
	return list
}
