package rebuild

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// RedisResult is the result for Redis.
type RedisResult struct {
	Channels    int  `json:"channels"` // compared
	Pairs       int  `json:"pairs"`    // users in channels, compared
	Threads     int  `json:"threads"`  // users in threads that they follow, compared
	Unknown     int  `json:"unknown"`  // of these, counts of large channels that Redis marks as unknown
	Newer       int  `json:"newer"`    // of these, values that are newer than the store, and so not compared
	Late        int  `json:"late"`     // of these, values with a newer record in the topics that no cache has read yet
	Differences int  `json:"differences"`
	Repaired    bool `json:"repaired"` // wrong values are removed, and a running cache fills Redis again
}

// redisCheck compares Redis with rebuilt stores, in the way in which a reader of the cache sees it.
type redisCheck struct {
	c      *Config
	reader *cache.Reader
	format cache.Format
	only   map[int32]*places // nil: everything
	all    int32             // partitions of the topics

	partitions map[int32]projections.Position // the compared ones, with their positions
	channels   map[string]bool

	mu      sync.Mutex   // of what follows
	found   []Difference // the first maxConfirmed
	out     *RedisResult
	visited map[visit]bool
	wrong   map[string]map[string]bool // key -> wrong fields; without fields the whole key is wrong
}

// places are channels and users in a partition that are checked again.
type places struct{ channels, users map[string]bool }

// placesOf returns the places of differences, by partition.
func placesOf(list []Difference) map[int32]*places {
	all := map[int32]*places{}
	for _, d := range list {
		p := all[d.Partition]
		if p == nil {
			p = &places{map[string]bool{}, map[string]bool{}}
			all[d.Partition] = p
		}
		if d.User != "" {
			p.users[d.User] = true
		} else {
			p.channels[d.Channel] = true
		}
	}
	return all
}

// visit is a user whose channels in a partition were all compared.
type visit struct {
	user      string
	partition int32
}

func newRedisCheck(ctx context.Context, c *Config, only map[int32]*places) (*redisCheck, error) {
	reader := cache.NewReader(c.Redis).At(time.UnixMilli(0)) // at this time no level has ended, so all levels are as they were set
	complete, err := reader.Complete(ctx)
	if err != nil {
		return nil, err
	}
	if !complete {
		return nil, errors.New("the copy in Redis is not complete (it has no " + epochKey + ", or one of another version): run a node with the role cache, wait until it has filled Redis, and compare again; or compare without Redis (--no-redis)")
	}
	f, err := reader.Format(ctx)
	if err != nil {
		return nil, err
	}
	return &redisCheck{c: c, reader: reader, format: f, only: only, out: &RedisResult{}, partitions: map[int32]projections.Position{},
		channels: map[string]bool{}, visited: map[visit]bool{}, wrong: map[string]map[string]bool{}}, nil
}

func (r *redisCheck) differs(d Difference, key, field string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Differences++
	d.Where = "redis"
	d.Field = key + ", " + d.Field
	if len(r.found) < maxConfirmed {
		r.found = append(r.found, d)
	}
	r.spoil(key, field)
}

// count adds one to a number of out.
func (r *redisCheck) count(n *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}

// spoil marks a field of a hash, or with no field the key, for removal by repair. mu is held.
func (r *redisCheck) spoil(key, field string) {
	if r.wrong[key] == nil {
		r.wrong[key] = map[string]bool{}
	}
	if field != "" {
		r.wrong[key][field] = true
	}
}

// inOrder sorts the new findings in a fixed order: channels before users.
func (r *redisCheck) inOrder(from int) {
	slices.SortStableFunc(r.found[from:], func(a, b Difference) int {
		return cmp.Or(cmp.Compare(min(len(a.User), 1), min(len(b.User), 1)), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.User, b.User),
			cmp.Compare(a.Field, b.Field))
	})
}

// field is a compared field.
type field struct{ name, is, want string }

// wrong reports whether any field differs.
func wrong(fields []field) bool {
	return slices.ContainsFunc(fields, func(f field) bool { return f.is != f.want })
}

func (r *redisCheck) fields(number int32, channel, user, key, of string, fields []field) {
	for _, f := range fields {
		if f.is != f.want {
			r.differs(Difference{Partition: number, Channel: channel, User: user, Field: f.name, Is: f.is, Want: f.want}, key, of)
		}
	}
}

func u(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// shownID returns the id that Redis may show for a message. Once the id has left the index, the
// state does not have it, but Redis may.
func shownID(id string, seq uint32, is string) string {
	if id == "" && seq > 0 {
		return is
	}
	return id
}

func millis(ms int64, none bool) string {
	if none {
		return "none"
	}
	return strconv.FormatInt(ms, 10) + " ms"
}

func (r *redisCheck) of(channel string) int32 { return events.PartitionOf([]byte(channel), r.all) }

// compares reports whether a channel is in a compared partition.
func (r *redisCheck) compares(channel string) (number int32, ok bool) {
	number = r.of(channel)
	_, ok = r.partitions[number]
	return number, ok
}

// lags reports whether an entry may be older than the store. In a large channel, messages make no
// delta. If an open time target moves a pointer there, the fold publishes it when the target closes
// (DESIGN §7).
func (r *redisCheck) lags(p *projections.Partition, v *projections.View, shown events.Stamp) bool {
	return v.Large && shown.M < v.Stamp.M && p.FollowsTime(v.UserID, v.ChannelID)
}

func (r *redisCheck) wasVisited(user string, number int32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.visited[visit{user, number}]
}
