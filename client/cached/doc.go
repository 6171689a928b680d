// Package cached reads what the cache role of Tidemark wrote to Redis: a user's channels, threads
// and totals, in two round trips and without a node (docs/redis.md). It reads JSON values, the
// default of --redis-values.
//
//	view, err := cached.NewReader(rdb).View(ctx, "ann")
//	if errors.Is(err, cached.ErrMiss) { … } // ask the query service: a miss is not a zero
//
// Files: reader.go reads the keys, view.go makes the answer from them, entry.go has one value, and
// derive.go computes counts of a large channel from its record.
package cached
