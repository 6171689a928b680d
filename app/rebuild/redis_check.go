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

// RedisResult is what was found in Redis.
type RedisResult struct {
	Channels    int  `json:"channels"` // compared
	Pairs       int  `json:"pairs"`    // users in channels, compared
	Threads     int  `json:"threads"`  // users in threads that they follow, compared
	Unknown     int  `json:"unknown"`  // of these, counts of large channels that Redis does not claim to know
	Newer       int  `json:"newer"`    // of these, those that are further than the store, and so not compared
	Late        int  `json:"late"`     // of these, those of which the topics have a record that no cache has read yet
	Differences int  `json:"differences"`
	Repaired    bool `json:"repaired"` // what was wrong is taken out, and a cache that runs fills Redis again
}

// redisCheck compares Redis with rebuilt stores, as a reader of the cache would see it.
type redisCheck struct {
	c      *Config
	reader *cache.Reader
	format cache.Format
	only   map[int32]*places // nil: everything
	all    int32             // partitions of the topics

	partitions map[int32]projections.Position // compared, as of there
	channels   map[string]bool

	mu      sync.Mutex   // of what follows
	found   []Difference // the first maxConfirmed
	out     *RedisResult
	visited map[visit]bool
	wrong   map[string]map[string]bool // key -> fields that are wrong; without fields the key is
}

// places are channels and users in a partition that are looked at again.
type places struct{ channels, users map[string]bool }

// placesOf are those of differences, by partition.
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
	reader := cache.NewReader(c.Redis).At(time.UnixMilli(0)) // when no level had ended: as they were said
	complete, err := reader.Complete(ctx)
	if err != nil {
		return nil, err
	}
	if !complete {
		return nil, errors.New("what Redis holds is not complete (it has no " + epochKey + ", or one of another version): run a node with the role cache, wait until it has filled Redis, and compare again; or compare without Redis (--no-redis)")
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

// spoil makes a field of a hash, or with no field the key, one of those that repair takes out. mu
// is held.
func (r *redisCheck) spoil(key, field string) {
	if r.wrong[key] == nil {
		r.wrong[key] = map[string]bool{}
	}
	if field != "" {
		r.wrong[key][field] = true
	}
}

// inOrder sorts the new findings, independently of who found them first: channels before users.
func (r *redisCheck) inOrder(from int) {
	slices.SortStableFunc(r.found[from:], func(a, b Difference) int {
		return cmp.Or(cmp.Compare(min(len(a.User), 1), min(len(b.User), 1)), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.User, b.User),
			cmp.Compare(a.Field, b.Field))
	})
}

// field is one that is compared.
type field struct{ name, is, want string }

// wrong reports whether any is.
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

// shownID is the id that Redis may show for a message: once it has left the index the state does
// not know it, and Redis may.
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

// compares reports whether a channel is of a partition that is compared.
func (r *redisCheck) compares(channel string) (number int32, ok bool) {
	number = r.of(channel)
	_, ok = r.partitions[number]
	return number, ok
}

// lags reports whether an entry may say less than the store: in a large channel messages make no
// delta, and what they do to a pointer that an open time target moves is told when the target
// closes (DESIGN §7).
func (r *redisCheck) lags(p *projections.Partition, v *projections.View, shown events.Stamp) bool {
	return v.Large && shown.M < v.Stamp.M && p.FollowsTime(v.UserID, v.ChannelID)
}

func (r *redisCheck) wasVisited(user string, number int32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.visited[visit{user, number}]
}
