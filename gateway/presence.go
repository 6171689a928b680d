package gateway

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// presence keeps ws:<user> in Redis while a user has a socket at some gateway (DESIGN §8). Its value is the gateway that
// said so last. A gateway whose last socket of a user closes deletes the key if it is its own, and tells the others: one
// that has a socket of the user says so again at once. So the key is there while a socket is, but for a moment in which
// one of several gateways has just let go; it outlives a gateway that died by PresenceTTL; and where Redis has lost it, it
// is written again as soon as that is noticed (beat).
type presence struct {
	g    *Gateway
	rdb  redis.UniversalClient
	beat *beat
	came chan string
	gone chan string
}

const (
	presencePrefix = "ws:"
	// presenceGone is the pub/sub channel on which gateways tell each other whose key they deleted.
	presenceGone = "tidemark:ws-gone"
	// presenceBatch is how many keys one pipeline has.
	presenceBatch = 1000
)

// release deletes a key that is the gateway's own.
var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then
  redis.call("del", KEYS[1])
  redis.call("publish", ARGV[2], ARGV[3])
  return 1
end
return 0`)

func newPresence(g *Gateway) *presence {
	c := &g.cfg
	return &presence{
		g: g, rdb: c.Redis, beat: newBeat(g.id, c.PresenceTTL, c.Now), came: make(chan string, 4096), gone: make(chan string, 4096),
	}
}

// arrived notes a connection. It never waits: what does not fit is said with the next refresh.
func (p *presence) arrived(user string) {
	select {
	case p.came <- user:
	default:
	}
}

// left notes that the last connection of a user closed.
func (p *presence) left(user string) {
	select {
	case p.gone <- user:
	default: // the key runs out by itself
	}
}

// run keeps the keys until ctx is done, then lets go of them.
func (p *presence) run(ctx context.Context) {
	sub := p.rdb.Subscribe(ctx, presenceGone)
	defer func() { _ = sub.Close() }() // it is done for
	others := sub.Channel()
	refresh := time.NewTicker(p.g.cfg.PresenceTTL / 3)
	defer refresh.Stop()
	beats := time.NewTicker(p.beat.every)
	defer beats.Stop()
	due := p.look(ctx, false) // everybody is to be said again
	for {
		select {
		case user := <-p.came:
			p.say(ctx, p.gather(p.came, user))
		case user := <-p.gone:
			p.unsay(ctx, p.gather(p.gone, user))
		case m := <-others:
			if m != nil && p.g.hub.has(m.Payload) {
				p.say(ctx, []string{m.Payload})
			}
		case <-refresh.C:
			due = !p.say(ctx, p.g.hub.names())
		case <-beats.C:
			due = p.look(ctx, due)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			p.unsay(last, p.gather(p.gone))
			return
		}
	}
}

// look looks whether Redis has lost what it was told, and says everybody again if so, or if that is due. It reports whether
// it is due still.
func (p *presence) look(ctx context.Context, due bool) bool {
	lost, err := p.beat.next(ctx, p.rdb, p.g.cfg.PresenceTTL)
	if lost {
		p.g.cfg.Logger.Warn("Redis has lost what was written to it: who is connected is said again")
	}
	if due = due || lost; due && err == nil {
		due = !p.say(ctx, p.g.hub.names())
	}
	return due
}

// gather is a list with everything that waits behind it.
func (p *presence) gather(c chan string, list ...string) []string {
	for len(list) < presenceBatch {
		select {
		case user := <-c:
			list = append(list, user)
		default:
			return list
		}
	}
	return list
}

// say sets the keys of those who are still connected. It reports whether all were set.
func (p *presence) say(ctx context.Context, users []string) bool {
	for len(users) > 0 {
		n := min(len(users), presenceBatch)
		_, err := p.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, user := range users[:n] {
				if p.g.hub.has(user) {
					pipe.Set(ctx, presencePrefix+user, p.g.id, p.g.cfg.PresenceTTL)
				}
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			p.g.cfg.Logger.Warn("presence could not be written to Redis; it is tried again", "users", n, "err", err)
			return false
		}
		users = users[n:]
	}
	return true
}

// unsay deletes the keys of those who are not connected here any more.
func (p *presence) unsay(ctx context.Context, users []string) {
	if len(users) == 0 {
		return
	}
	_, err := p.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, user := range users {
			if !p.g.hub.has(user) {
				release.Eval(ctx, pipe, []string{presencePrefix + user}, p.g.id, presenceGone, user)
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		p.g.cfg.Logger.Warn("presence could not be removed from Redis; it runs out by itself", "users", len(users), "err", err)
	}
}

// without is those of a list whose users have a socket nowhere. It asks for each user once, presenceBatch of them at a
// time, and not for those who are connected here. While Redis does not have what it was told, nobody can say.
func (p *presence) without(ctx context.Context, list []absent) ([]absent, error) {
	here := map[string]bool{} // or at another gateway
	var ask []string
	for _, a := range list {
		if _, known := here[a.user]; !known {
			if here[a.user] = p.g.hub.has(a.user); !here[a.user] {
				ask = append(ask, a.user)
			}
		}
	}
	for users := range slices.Chunk(ask, presenceBatch) {
		keys := make([]string, len(users)+1)
		for i, user := range users {
			keys[i] = presencePrefix + user
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
		if err := p.beat.settled(); err != nil { // asked last: what Redis lost before it answered is noted by now
			return nil, fmt.Errorf("presence in Redis: %w", err)
		}
		for i, user := range users {
			here[user] = values[i] != nil
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(a absent) bool { return here[a.user] }), nil
}
