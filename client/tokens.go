package client

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// TokenSource returns the bearer token for the next call or connection; empty: none. So an expired
// token can be renewed without a new client.
type TokenSource func(context.Context) (string, error)

func (s TokenSource) token(ctx context.Context) (string, error) {
	if s == nil {
		return "", nil
	}
	token, err := s(ctx)
	if err != nil {
		return "", fmt.Errorf("client: no token: %w", err)
	}
	return token, nil
}

// Token returns a source of one constant token.
func Token(token string) TokenSource {
	return func(context.Context) (string, error) { return token, nil }
}

// TokenFile returns a source that reads a file each time. To renew the token, replace the file.
func TokenFile(path string) TokenSource {
	return func(context.Context) (string, error) {
		text, err := os.ReadFile(path) //nolint:gosec // the caller names the file
		return strings.TrimSpace(string(text)), err
	}
}

// latest keeps the token with the highest offset of each topic and partition, because a node
// accepts at most three per partition.
func latest(tokens []string) []string {
	type kept struct {
		at     int
		offset int64
	}
	seen := map[string]kept{}
	var out []string
	for _, token := range tokens {
		where, offset := token, int64(-1)
		if i := strings.LastIndexByte(token, '/'); i >= 0 {
			where = token[:i]
			if n, err := strconv.ParseUint(token[i+1:], 10, 63); err == nil {
				offset = int64(n) //nolint:gosec // of 63 bits
			}
		}
		switch was, ok := seen[where]; {
		case !ok:
			seen[where] = kept{len(out), offset}
			out = append(out, token)
		case offset > was.offset:
			seen[where] = kept{was.at, offset}
			out[was.at] = token
		}
	}
	return out
}
