package rebuild

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

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
	Differences int  `json:"differences"`
	Repaired    bool `json:"repaired"` // what was wrong is taken out, and a cache that runs fills Redis again
}

// redisCheck compares Redis with rebuilt stores, as a reader of the cache would see it.
type redisCheck struct {
	c      *Config
	reader *cache.Reader
	found  []Difference // the first maxConfirmed
	out    *RedisResult
	all    int32 // partitions of the topics

	partitions map[int32]projections.Position // compared, as of there
	channels   map[string]bool
	visited    map[visit]bool
	wrong      map[string]map[string]bool // key -> fields that are wrong; without fields the key is
}

// visit is a user of whom all channels of a partition were compared.
type visit struct {
	user      string
	partition int32
}

// epochKey is the key that says that Redis is complete (docs/redis.md).
const epochKey = "tidemark:epoch"

func newRedisCheck(ctx context.Context, c *Config) (*redisCheck, error) {
	n, err := c.Redis.Exists(ctx, epochKey).Result()
	if err != nil {
		return nil, fmt.Errorf("asking Redis: %w", err)
	}
	if n == 0 {
		return nil, errors.New("what Redis holds is not complete (it has no " + epochKey + "): a cache fills it, or would if one ran; compare later, or without it (--no-redis)")
	}
	return &redisCheck{c: c, reader: cache.NewReader(c.Redis), out: &RedisResult{}, partitions: map[int32]projections.Position{},
		channels: map[string]bool{}, visited: map[visit]bool{}, wrong: map[string]map[string]bool{}}, nil
}

func (r *redisCheck) differs(d Difference, key, field string) {
	r.out.Differences++
	d.Where = "redis"
	d.Field = key + ", " + d.Field
	if len(r.found) < maxConfirmed {
		r.found = append(r.found, d)
	}
	r.spoil(key, field)
}

// spoil makes a field of a hash, or with no field the key, one of those that repair takes out.
func (r *redisCheck) spoil(key, field string) {
	if r.wrong[key] == nil {
		r.wrong[key] = map[string]bool{}
	}
	if field != "" {
		r.wrong[key][field] = true
	}
}

// partition compares the channels of a partition, and the users who have anything to do with them.
func (r *redisCheck) partition(ctx context.Context, number int32, p *projections.Partition) (err error) {
	r.partitions[number], r.all = p.Position(), p.Identity().Partitions
	users := map[string][]string{} // user -> channels
	p.RLock()
	defer p.RUnlock()
	p.Channels(func(id string, us []string) bool {
		r.channels[id] = true
		for _, u := range us {
			users[u] = append(users[u], id)
		}
		err = r.channel(ctx, number, p, id)
		return err == nil
	})
	if err != nil {
		return err
	}
	for user, channels := range users {
		if err := r.user(ctx, number, p, user, channels); err != nil {
			return err
		}
	}
	return nil
}

func (r *redisCheck) channel(ctx context.Context, number int32, p *projections.Partition, id string) error {
	want, _ := p.Channel(id)
	key := cache.ChannelLatestKey(id)
	r.out.Channels++
	got, err := r.reader.Channel(ctx, id)
	switch {
	case errors.Is(err, cache.ErrMiss):
		got = nil
	case err != nil:
		return err
	case got.HeadSeq > want.HeadSeq:
		r.out.Newer++
		return nil
	}
	fields := channelFields(&want, got)
	if got != nil && !wrong(fields) {
		return nil
	}
	if newer, err := r.channelBeyond(ctx, number, id); err != nil {
		return err
	} else if newer { // without a new message: somebody joined, a message was deleted, the channel was
		r.out.Newer++
		return nil
	}
	if got == nil {
		r.differs(Difference{Partition: number, Channel: id, Field: "the key", Is: "missing", Want: fmt.Sprintf("message_seq %d", want.HeadSeq)}, key, "")
		return nil
	}
	r.fields(number, id, "", key, "", fields)
	return nil
}

// channelFields are those of a channel's hash; none without a hash.
func channelFields(want *projections.ChannelView, got *cache.Channel) []field {
	if got == nil {
		return nil
	}
	return []field{
		{"message_seq", u(got.HeadSeq), u(want.HeadSeq)},
		{"message_pos", u(got.HeadPos), u(want.HeadPos)},
		{"member_count", u(got.MemberCount), u(want.MemberCount)},
		{"latest_id", got.LatestID, told(want.Latest.MessageID, want.Latest.Seq, got.LatestID)},
		{"latest_at", millis(got.LatestAt.UnixMilli(), got.LatestAt.IsZero()), millis(want.Latest.At, want.Latest.Seq == 0)},
	}
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

// told is the id that Redis may show for a message: once it has left the index the state does not know it, and Redis may.
func told(id string, seq uint32, is string) string {
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

// user compares the inbox and the read pointers of a user in the channels of one partition.
func (r *redisCheck) user(ctx context.Context, number int32, p *projections.Partition, user string, channels []string) error {
	r.visited[visit{user, number}] = true
	entries, _, err := r.reader.Inbox(ctx, user)
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return err
	}
	inbox := map[string]*cache.Entry{}
	for i := range entries {
		inbox[entries[i].ChannelID] = &entries[i]
	}
	pipe := r.c.Redis.Pipeline()
	pointers := make([]*redis.MapStringStringCmd, len(channels))
	for i, id := range channels {
		pointers[i] = pipe.HGetAll(ctx, cache.ReadPointerKey(user, id))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("read pointers of user %q: %w", user, err)
	}
	for i, id := range channels {
		v, _ := p.View(user, id)
		r.out.Pairs++
		e := inbox[id]
		delete(inbox, id)
		if e != nil && e.Stamp != v.Stamp && e.Stamp.Dominates(v.Stamp) {
			r.out.Newer++
			continue
		}
		if e == nil && v.Member {
			if gone, err := r.goneBeyond(ctx, number, user, id); err != nil {
				return err
			} else if gone {
				r.out.Newer++
				continue
			}
		}
		r.entry(number, &v, e)
		if v.Member {
			r.pointer(number, &v, pointers[i].Val())
		}
	}
	if err := r.threads(ctx, number, p, user); err != nil {
		return err
	}
	for id, e := range inbox { // of channels in which the user has done nothing, as far as this partition knows
		if r.of(id) == number {
			r.stray(number, user, e)
		}
	}
	return nil
}

func (r *redisCheck) of(channel string) int32 { return events.PartitionOf([]byte(channel), r.all) }

// compares reports whether a channel is of a partition that is compared.
func (r *redisCheck) compares(channel string) (number int32, ok bool) {
	number = r.of(channel)
	_, ok = r.partitions[number]
	return number, ok
}

func (r *redisCheck) entry(number int32, v *projections.View, e *cache.Entry) {
	key := cache.InboxKey(v.UserID)
	switch {
	case e == nil && !v.Member:
		return
	case e == nil:
		r.differs(Difference{Partition: number, Channel: v.ChannelID, User: v.UserID, Field: "the entry", Is: "missing",
			Want: fmt.Sprintf("there, with unread %d", v.Unread)}, key, v.ChannelID)
		return
	case !v.Member:
		r.stray(number, v.UserID, e)
		return
	}
	fields := []field{
		{"offline_unread", u(e.OfflineUnread), u(v.OfflineUnread)},
		{"last_read_seq", u(e.LastReadSeq), u(v.LastRead.Seq)},
		{"large", strconv.FormatBool(e.Large), strconv.FormatBool(v.Large)},
		{"muted", strconv.FormatBool(e.Muted), strconv.FormatBool(v.Muted)},
		{"read_epoch", u(e.ReadEpoch), u(v.ReadEpoch)},
	}
	if e.Known {
		fields = append(fields, field{"unread", u(e.Unread), u(v.Unread)}, field{"mentions", u(e.Mentions), u(v.Mentions)})
	} else {
		r.out.Unknown++
	}
	if !e.Large {
		fields = append(fields, field{"first_unread_id", e.FirstUnreadID, told(v.FirstUnread.MessageID, v.FirstUnread.Seq, e.FirstUnreadID)},
			field{"latest_seq", u(e.LatestSeq), u(v.Latest.Seq)})
	}
	r.fields(number, v.ChannelID, v.UserID, key, v.ChannelID, fields)
}

func (r *redisCheck) pointer(number int32, v *projections.View, hash map[string]string) {
	key := cache.ReadPointerKey(v.UserID, v.ChannelID)
	if strings.Contains(v.UserID, ":") {
		return // two pairs may share this key
	}
	seq := u(v.LastRead.Seq)
	is := hash["last_read_seq"]
	if len(hash) == 0 {
		is = "0"
	}
	before := r.out.Differences
	r.fields(number, v.ChannelID, v.UserID, key, "", []field{
		{"last_read_seq", is, seq},
		{"last_read_id", hash["last_read_id"], told(v.LastRead.MessageID, v.LastRead.Seq, hash["last_read_id"])},
	})
	if r.out.Differences > before { // a pointer is written with its entry, if that is not there already
		r.spoil(cache.InboxKey(v.UserID), v.ChannelID)
	}
}
