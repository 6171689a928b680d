package main

import "github.com/tidemark/tidemark/cache"

// cacheFlags say what the cache writes to Redis.
type cacheFlags struct {
	RedisValues string   `enum:"json,packed" default:"json" placeholder:"json|packed" help:"Values in Redis: json, or packed, which takes a fraction of the memory and is read by package cache and by the function tidemark_inbox (${default}). All caches of a Redis need the same; another one fills it anew."`
	RedisKeys   []string `default:"inbox,pointers,channels,threads" placeholder:"FAMILY" help:"Families of keys that the cache writes; leave out what nobody reads (${default}). inbox cannot be left out. All caches of a Redis need the same."`
}

// checkCache checks the families.
func (f cacheFlags) checkCache() error { return cache.CheckFormat(f.RedisValues, f.RedisKeys) }
