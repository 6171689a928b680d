package main

import "github.com/tidemark/tidemark/cache"

// cacheFlags set what the cache writes to Redis.
type cacheFlags struct {
	RedisValues string   `enum:"json,packed" default:"json" placeholder:"json|packed" help:"Values in Redis: json, or packed, which takes a fraction of the memory and is read by package cache and by the function tidemark_inbox (${default}). All caches of a Redis need the same; a change fills Redis again."`
	RedisKeys   []string `default:"inbox,pointers,channels,threads" placeholder:"FAMILY" help:"Families of keys that the cache writes (${default}). Leave out what nobody reads, but not inbox. All caches of a Redis need the same."`
}

// checkCache checks the families.
func (f cacheFlags) checkCache() error { return cache.CheckFormat(f.RedisValues, f.RedisKeys) }
