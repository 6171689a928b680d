// Package library has the functions that Redis runs for readers of packed values, in any language
// (docs/redis.md).
//
//	library.go    loads the library by name and version
//	tidemark.lua  tidemark_inbox: a user's inbox and totals as JSON
package library

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed tidemark.lua
var code string

// Name of the library, and of its function.
const (
	Name     = "tidemark"
	Function = "tidemark_inbox"
)

var errNoFunctions = errors.New("this Redis does not support functions: use Redis 7 or newer")

// versionLine is a line of the library.
var versionLine = regexp.MustCompile(`(?m)^-- version (\d+)$`)

// versionOf returns the version of a library's code, 0 if it states none.
func versionOf(code string) int {
	m := versionLine.FindStringSubmatch(code)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // the pattern matches digits only; a number that is too long is not ours
	return n
}

// Load loads the library, or replaces an older version of it. A later version stays. done describes
// what it loaded; it is empty if Redis already had the library.
func Load(ctx context.Context, rdb redis.UniversalClient) (done string, err error) {
	own := versionOf(code)
	have, err := loaded(ctx, rdb)
	if err != nil {
		return "", inWords(err)
	}
	switch was := versionOf(have); {
	case have == code:
		return "", nil
	case was > own:
		return fmt.Sprintf("version %d, which is later than this build's %d", was, own), nil
	}
	if err := rdb.FunctionLoadReplace(ctx, code).Err(); err != nil {
		return "", inWords(err)
	}
	return fmt.Sprintf("version %d", own), nil
}

// loaded returns the code of the library in Redis, or "".
func loaded(ctx context.Context, rdb redis.UniversalClient) (string, error) {
	list, err := rdb.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: Name, WithCode: true}).Result()
	if err != nil {
		return "", err
	}
	for _, l := range list {
		if l.Name == Name {
			return l.Code, nil
		}
	}
	return "", nil
}

// inWords explains Redis' error about an unknown command.
func inWords(err error) error {
	if text := strings.ToLower(err.Error()); strings.Contains(text, "unknown command") || strings.Contains(text, "unknown subcommand") {
		return fmt.Errorf("%w (%w)", errNoFunctions, err)
	}
	return fmt.Errorf("load the function library %s: %w", Name, err)
}
