package cache

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// clearKeys is how many keys one call removes, and about how many one call scans.
const clearKeys = 500

// clear removes the keys of another version, even those with unchanged names, because a value that
// stayed could dominate the values of this filling. Every member that opens the filling meanwhile
// clears too. None begins a partition before the first of them has finished, which ends clearing
// for all.
func (f filling) clear(ctx context.Context, persist func(context.Context, string, func(context.Context) error) error) (removed int, err error) {
	var cursor uint64
	for {
		var found []string
		err := persist(ctx, "look for keys of another format", func(ctx context.Context) (err error) {
			var next uint64
			if found, next, err = f.rdb.Scan(ctx, cursor, "", clearKeys).Result(); err == nil {
				cursor = next
			}
			return err
		})
		if err != nil {
			return removed, err
		}
		found = slices.DeleteFunc(found, func(key string) bool { return !isValue(key) })
		if more, err := f.unlink(ctx, persist, found); err != nil || !more {
			return removed, err
		}
		if removed += len(found); cursor == 0 {
			_, err := f.unlink(ctx, persist, nil)
			return removed, err
		}
	}
}

// unlink removes the keys in found; nil declares that all are gone. more is false once another
// member has declared that.
func (f filling) unlink(ctx context.Context, persist func(context.Context, string, func(context.Context) error) error, found []string) (more bool, err error) {
	more = true
	// A scan may return more keys than requested.
	for i := 0; more && (i < len(found) || i == 0 && found == nil); i += clearKeys {
		keys := append([]string{cursorsKey}, found[i:min(i+clearKeys, len(found))]...)
		err = persist(ctx, "remove keys of another format", func(ctx context.Context) error {
			n, err := clearScript.Run(ctx, f.rdb, keys, f.id).Int()
			more = n == 1
			return err
		})
		if err != nil {
			return false, fmt.Errorf("%d keys: %w", len(found), err)
		}
	}
	return more, nil
}

// isValue reports whether a key holds a value of a user or a channel.
func isValue(key string) bool {
	return slices.ContainsFunc(valuePrefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

var valuePrefixes = []string{
	prefixInbox, prefixInboxThreads, prefixInboxGone, prefixReadPointer, prefixThreadRead, prefixChannelLatest, prefixChannelStamp,
}
