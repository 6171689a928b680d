package auth

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/reread"
)

const (
	// lookEvery is the least time between two checks of the file of revoked tokens, askEvery that
	// between two readings of an address.
	lookEvery = reread.Every
	askEvery  = 15 * time.Second
	// maxRevokedBytes bounds a list of revoked tokens.
	maxRevokedBytes = 16 << 20
)

// Prefixes of the lines of such a list.
const (
	revokedSubject = "sub:"
	revokedToken   = "jti:"
)

// Revoked is a list of users and tokens that are refused although their tokens are valid: one line
// each, `sub:USER` for all tokens of a user, `jti:ID` for one token. Empty lines, and lines that
// begin with #, are ignored.
//
// A file is checked at most once a second and read again when it has changed; an address is read
// every 15 s. While reading fails, the last list stays valid.
type Revoked struct {
	source string
	read   func(context.Context) ([]byte, error)
	stat   func() os.FileInfo // of a file, nil while there is none; nil for an address
	every  time.Duration
	now    func() time.Time
	note   func(error)

	mu      sync.Mutex
	list    map[string]bool // lines
	checked time.Time
	seen    os.FileInfo
	trouble error
	reading bool // an address is being read, in a goroutine
}

// OpenRevoked reads a list from a file or an https address. note is called when a later reading
// fails; it may be nil.
func OpenRevoked(ctx context.Context, source string, note func(error)) (*Revoked, error) {
	r := &Revoked{source: source, now: time.Now, note: note, every: askEvery}
	if note == nil {
		r.note = func(error) {}
	}
	u, err := sourceOf(source)
	switch {
	case err != nil:
		return nil, fmt.Errorf("revoked tokens at %w", err)
	case u != nil:
		r.source = u.Redacted()
		r.read = func(ctx context.Context) ([]byte, error) { return fetch(ctx, u, maxRevokedBytes) }
	default:
		r.every = lookEvery
		r.stat = func() os.FileInfo { info, _ := os.Stat(source); return info } // reading it reports the error
		r.read = func(context.Context) ([]byte, error) { return readBounded(source, maxRevokedBytes) }
		r.seen = r.stat()
	}
	r.checked = r.now()
	b, err := r.read(ctx)
	if err == nil {
		r.list, err = parseRevoked(b)
	}
	if err != nil {
		return nil, fmt.Errorf("revoked tokens of %s: %w", r.source, err)
	}
	return r, nil
}

// has reports whether a token is on the list. It may start to read an address again; it reads a
// file at once.
func (r *Revoked) has(id Identity) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); now.Sub(r.checked) >= r.every && !r.reading {
		r.checked = now
		if r.stat == nil {
			r.reading = true
			guard.Go("the reading of the revoked tokens", func(*guard.Error) {}, r.ask)
		} else if file := r.stat(); !reread.Same(file, r.seen) || r.trouble != nil {
			r.seen = file
			r.take(r.reread(context.Background()))
		}
	}
	return r.list[revokedSubject+id.Subject] || id.ID != "" && r.list[revokedToken+id.ID]
}

func (r *Revoked) ask() {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	list, err := r.reread(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reading = false
	r.take(list, err)
}

// reread reads the list again. A panic counts as a failed reading, so the file is read once more.
func (r *Revoked) reread(ctx context.Context) (list map[string]bool, err error) {
	err = guard.Err("the reading of the revoked tokens", func() error {
		b, err := r.read(ctx)
		if err != nil {
			return err
		}
		list, err = parseRevoked(b)
		return err
	})
	return list, err
}

// take replaces the list with a usable new one. The caller holds the lock.
func (r *Revoked) take(list map[string]bool, err error) {
	if err == nil {
		r.list = list
	} else if r.trouble == nil || r.trouble.Error() != err.Error() {
		r.note(fmt.Errorf("the revoked tokens of %s cannot be read again, and those read before stay revoked: %w", r.source, err))
	}
	r.trouble = err
}

func parseRevoked(b []byte) (map[string]bool, error) {
	list := map[string]bool{}
	s := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		rest, isSubject := strings.CutPrefix(line, revokedSubject)
		if !isSubject {
			rest, _ = strings.CutPrefix(line, revokedToken)
		}
		switch {
		case line == "" || line[0] == '#':
		case rest == line || rest == "":
			return nil, fmt.Errorf("line %d is neither sub:USER nor jti:ID", n)
		default:
			list[line] = true
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("a line is too long: %w", err)
	}
	return list, nil
}

func readBounded(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return os.ReadFile(name)
}
