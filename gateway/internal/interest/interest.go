package interest

import "sync"

// All has a bit for each shard that there may be.
const All = ^uint64(0)

// Interest is which shards have which channel. The feed locks only these shards for a record, and
// does not even decode one for a channel without members here.
//
// The feed notes that it has passed a record before it reads an Interest, and whoever makes a user
// a member of a channel notes the interest before they read how far the feed has passed. So a
// record either reaches the new member or is asked for. The zero Interest is ready to use.
type Interest struct {
	mu     sync.RWMutex
	shards map[string]uint64 // by channel, a bit for each shard
}

// Of returns the shards that have a channel, a bit for each.
func (in *Interest) Of(channelID []byte) uint64 {
	in.mu.RLock()
	defer in.mu.RUnlock()
	return in.shards[string(channelID)]
}

// Set notes whether a shard has a channel. Called with the shard's lock.
func (in *Interest) Set(channelID string, shard int, has bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	bits := in.shards[channelID] &^ (1 << shard)
	if has {
		bits |= 1 << shard
	}
	if bits == 0 {
		delete(in.shards, channelID)
		return
	}
	if in.shards == nil {
		in.shards = map[string]uint64{}
	}
	in.shards[channelID] = bits
}
