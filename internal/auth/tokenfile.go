package auth

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/reread"
)

// TokenFile is this process's own token, in a file that another program renews. It checks the file
// at most once a second, and reads it again after a change, or while the current token is not
// valid.
type TokenFile struct {
	file  string
	v     *Verifier // nil: there are no keys here, and only the receiver of the token verifies it
	needs Scopes
	now   func() time.Time

	mu    sync.Mutex
	token string
	until time.Time
	files reread.Files
}

// OpenTokenFile reads a token that must have certain scopes. An unreadable file is an error. An
// invalid token is not, because a valid one may follow; Token reports it.
func OpenTokenFile(ctx context.Context, file string, v *Verifier, needs Scopes) (*TokenFile, error) {
	f := &TokenFile{file: file, v: v, needs: needs, now: time.Now}
	if _, err := readBounded(file, maxToken); err != nil {
		return nil, err
	}
	f.read(ctx)
	return f, nil
}

// Token returns the token of the file, if it is valid now.
func (f *TokenFile) Token() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if f.files.Look(now) && (f.files.Changed() || f.ended(now)) {
		f.read(context.Background())
	}
	switch {
	case f.files.Trouble != nil:
		return "", f.files.Trouble
	case f.ended(now):
		return "", fmt.Errorf("the service token in %s has expired: put a new one there, which is read at once", f.file)
	}
	return f.token, nil
}

func (f *TokenFile) ended(now time.Time) bool { return !f.until.IsZero() && now.After(f.until) }

// read reads and checks the token. A panic counts as a failed reading, so the file is read again.
func (f *TokenFile) read(ctx context.Context) {
	f.files.Begin(f.now(), f.file)
	if err := guard.Do("the reading of the service token", func() { f.judge(ctx) }); err != nil {
		f.files.Trouble = err
	}
}

func (f *TokenFile) judge(ctx context.Context) {
	b, err := readBounded(f.file, maxToken)
	if err != nil {
		f.files.Trouble = fmt.Errorf("the service token cannot be read: %w", err)
		return
	}
	f.token, f.until, f.files.Trouble = strings.TrimSpace(string(b)), time.Time{}, nil
	if f.v == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	id, err := f.v.Verify(ctx, f.token)
	switch {
	case err != nil:
		f.files.Trouble = fmt.Errorf("the service token in %s: %w; put a new one there, which is read at once", f.file, err)
	case !id.Scopes.May(f.needs):
		f.files.Trouble = fmt.Errorf("the service token in %s does not have the scope %s", f.file, f.needs)
	default:
		f.until = id.Expires.Add(-leeway) // other machines' clocks may be ahead
	}
}
