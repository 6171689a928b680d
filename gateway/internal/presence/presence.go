package presence

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/internal/guard"
)

// Presence keeps ws:<user> in Redis while a user has a socket at some gateway (DESIGN §8). The
// value is the gateway that set the key last. When a user's last socket at a gateway closes, that
// gateway deletes the key if it is its own, and publishes that on a channel; a gateway that still
// has a socket of the user sets the key again at once.
//
// So the key exists while a socket does, except for the moment after one of several gateways has
// deleted it. It outlives a crashed gateway by Config.TTL. If Redis loses it, it is set again as
// soon as beat detects the loss.
type Presence struct {
	cfg  Config
	rdb  redis.UniversalClient
	beat *beat
	came chan string
	gone chan string
}

// Config configures a Presence. All fields must be set.
type Config struct {
	Gateway string // id of this process, the value of its keys
	Sockets Sockets
	Redis   redis.UniversalClient
	TTL     time.Duration // lifetime of a key
	Now     func() time.Time
	Logger  *slog.Logger
}

// Sockets are the connections of this gateway.
type Sockets interface {
	// Has reports whether a user has a connection here.
	Has(user string) bool
	// Names returns the users who have one.
	Names() []string
}

const (
	// goneChannel is the pub/sub channel on which gateways publish the users whose keys they
	// deleted.
	goneChannel = "tidemark:ws-gone"
	// batch is the number of keys in a pipeline.
	batch = 1000
	// closePatience is how long the end of Run waits for its subscription to close.
	closePatience = time.Second
)

// deleteOwn deletes a key if it is the gateway's own, and publishes the user.
var deleteOwn = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
  redis.call("del", KEYS[1])
  redis.call("publish", ARGV[2], ARGV[3])
  return 1
end
return 0`)

// New creates a Presence. Run keeps the keys.
func New(c Config) *Presence {
	return &Presence{
		cfg: c, rdb: c.Redis, beat: newBeat(c.Gateway, c.TTL, c.Now), came: make(chan string, 4096), gone: make(chan string, 4096),
	}
}

// Arrived records that a user has connected. It never waits: if the queue is full, the next refresh
// sets the key.
func (p *Presence) Arrived(user string) {
	select {
	case p.came <- user:
	default:
	}
}

// Left records that the last connection of a user closed.
func (p *Presence) Left(user string) {
	select {
	case p.gone <- user:
	default: // the key expires
	}
}

// Run keeps the keys until ctx is done. Then it deletes those of users who have left; the others
// expire.
func (p *Presence) Run(ctx context.Context) {
	sub := p.rdb.Subscribe(ctx, goneChannel)
	defer p.close(sub)
	others := sub.Channel()
	refresh := time.NewTicker(p.cfg.TTL / 3)
	defer refresh.Stop()
	beats := time.NewTicker(p.beat.every)
	defer beats.Stop()
	due := p.checkRedis(ctx, false) // all keys must be set again
	for {
		select {
		case user := <-p.came:
			p.set(ctx, p.gather(p.came, user))
		case user := <-p.gone:
			p.remove(ctx, p.gather(p.gone, user))
		case m := <-others:
			if m != nil && p.cfg.Sockets.Has(m.Payload) {
				p.set(ctx, []string{m.Payload})
			}
		case <-refresh.C:
			due = !p.set(ctx, p.cfg.Sockets.Names())
		case <-beats.C:
			due = p.checkRedis(ctx, due)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			p.remove(last, p.gather(p.gone))
			return
		}
	}
}

// close ends the subscription. Its Close waits while the subscription dials, which may take longer
// than a stop may with a Redis that hangs; the dial ends by itself.
func (p *Presence) close(sub *redis.PubSub) {
	guard.Within(closePatience, "closing the subscription", guard.Log(p.cfg.Logger, "a subscription to Redis is not closed"),
		func() { _ = sub.Close() }) // nothing depends on its result
}

// checkRedis writes the next beat. If Redis has lost data, or due is set, it sets the keys of all
// users again. It returns whether that is still due because Redis did not accept them.
func (p *Presence) checkRedis(ctx context.Context, due bool) bool {
	lost, err := p.beat.next(ctx, p.rdb, p.cfg.TTL)
	if lost {
		p.cfg.Logger.Warn("Redis has lost what was written to it: the keys of all connected users are set again")
	}
	if due = due || lost; due && err == nil {
		due = !p.set(ctx, p.cfg.Sockets.Names())
	}
	return due
}

// gather appends waiting users from c to list, up to batch users.
func (p *Presence) gather(c chan string, list ...string) []string {
	for len(list) < batch {
		select {
		case user := <-c:
			list = append(list, user)
		default:
			return list
		}
	}
	return list
}

// set sets the keys of those users who are still connected. It reports whether all were set.
func (p *Presence) set(ctx context.Context, users []string) bool {
	for len(users) > 0 {
		n := min(len(users), batch)
		_, err := p.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, user := range users[:n] {
				if p.cfg.Sockets.Has(user) {
					pipe.Set(ctx, cache.PresenceKey(user), p.cfg.Gateway, p.cfg.TTL)
				}
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			p.cfg.Logger.Warn("presence could not be written to Redis, trying again", "users", n, "err", err)
			return false
		}
		users = users[n:]
	}
	return true
}

// remove deletes the keys of those users who are no longer connected here.
func (p *Presence) remove(ctx context.Context, users []string) {
	if len(users) == 0 {
		return
	}
	_, err := p.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, user := range users {
			if !p.cfg.Sockets.Has(user) {
				deleteOwn.Eval(ctx, pipe, []string{cache.PresenceKey(user)}, p.cfg.Gateway, goneChannel, user)
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		p.cfg.Logger.Warn("presence could not be removed from Redis; it will expire by itself", "users", len(users), "err", err)
	}
}

// absentOf returns the entries of list whose users have no open connection on any gateway. It looks
// up each user once, batch of them at a time, and skips those who are connected here. It fails
// while Redis may lack keys.
func (p *Presence) absentOf(ctx context.Context, list []absent) ([]absent, error) {
	here := map[string]bool{} // here or at another gateway
	var ask []string
	for _, a := range list {
		if _, known := here[a.user]; !known {
			if here[a.user] = p.cfg.Sockets.Has(a.user); !here[a.user] {
				ask = append(ask, a.user)
			}
		}
	}
	for users := range slices.Chunk(ask, batch) {
		keys := make([]string, len(users)+1)
		for i, user := range users {
			keys[i] = cache.PresenceKey(user)
		}
		keys[len(users)] = p.beat.key
		acked := p.beat.acked.Load()
		values, err := p.rdb.MGet(ctx, keys...).Result()
		if err != nil {
			return nil, fmt.Errorf("presence in Redis: %w", err)
		}
		if number, _ := values[len(users)].(string); isBefore(number, acked) {
			p.beat.lose()
		}
		if err := p.beat.settled(); err != nil { // checked last: by now a loss before Redis answered is recorded
			return nil, fmt.Errorf("presence in Redis: %w", err)
		}
		for i, user := range users {
			here[user] = values[i] != nil
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(a absent) bool { return here[a.user] }), nil
}
