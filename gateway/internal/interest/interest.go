package interest

import "sync"

// All has the bits of all possible shards.
const All = ^uint64(0)

// Interest records which shards have which channel. For each record the feed locks only these
// shards, and does not even decode records of channels without members here.
//
// The feed records that it has passed a record before it reads an Interest. Code that makes a user
// a member records the interest before it reads how far the feed has passed. So a record either
// reaches the new member or is requested from the owner. The zero Interest is ready to use.
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

// Set records whether a shard has a channel. Called with the shard's lock.
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
