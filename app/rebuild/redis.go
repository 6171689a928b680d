package rebuild

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections"
)

// askers is how many queries to Redis are in progress at once, because each waits far longer for an
// answer than either side works.
const askers = 16

// epochKey is the key that exists while Redis is complete (docs/redis.md).
const epochKey = "tidemark:epoch"

// partition compares the channels of a partition, and the users with any state in them.
func (r *redisCheck) partition(ctx context.Context, number int32, p *projections.Partition) error {
	r.partitions[number], r.all = p.Position(), p.Identity().Partitions
	only := r.only[number]
	users := map[string][]string{} // user -> channels
	p.RLock()
	defer p.RUnlock()
	var channels []string
	from := len(r.found)
	p.Channels(func(id string, us []string) bool {
		r.channels[id] = true
		if !r.format.NoChannels && (only == nil || only.channels[id]) {
			channels = append(channels, id)
		}
		for _, u := range us {
			if only == nil || only.users[u] {
				users[u] = append(users[u], id)
			}
		}
		return true
	})
	g, gctx := guard.WithContext(ctx)
	g.SetLimit(askers)
	for _, id := range channels {
		g.Go("comparing channels with Redis", func() error { return r.channel(gctx, number, p, id) })
	}
	for user, of := range users {
		g.Go("comparing users with Redis", func() error { return r.user(gctx, number, p, user, of) })
	}
	err := g.Wait()
	r.inOrder(from)
	return err
}

func (r *redisCheck) channel(ctx context.Context, number int32, p *projections.Partition, id string) error {
	want, _ := p.Channel(id)
	key := cache.ChannelLatestKey(id)
	r.count(&r.out.Channels)
	got, err := r.reader.Channel(ctx, id)
	switch {
	case errors.Is(err, cache.ErrMiss):
		got = nil
	case err != nil:
		return err
	case got.HeadSeq > want.HeadSeq:
		r.count(&r.out.Newer)
		return nil
	}
	fields := channelFields(&want, got)
	if got != nil && !wrong(fields) || got == nil && want.HeadSeq == 0 && want.MemberCount == 0 {
		// Nothing is ever published for a channel that has only leaves, edits, deletions or purges.
		return nil
	}
	if newer, err := r.channelBeyond(ctx, number, id); err != nil {
		return err
	} else if newer { // without a new message: somebody joined, a message was deleted, the channel was
		r.count(&r.out.Newer)
		return nil
	}
	if got == nil {
		r.differs(Difference{Partition: number, Channel: id, Field: "the key", Is: "missing", Want: fmt.Sprintf("message_seq %d", want.HeadSeq)}, key, "")
		return nil
	}
	r.fields(number, id, "", key, "", fields)
	return nil
}

// channelFields are the fields of a channel's hash; none without a hash.
func channelFields(want *projections.ChannelView, got *cache.Channel) []field {
	if got == nil {
		return nil
	}
	return []field{
		{"message_seq", u(got.HeadSeq), u(want.HeadSeq)},
		{"message_pos", u(got.HeadPos), u(want.HeadPos)},
		{"member_count", u(got.MemberCount), u(want.MemberCount)},
		{"labels", strings.Join(got.Labels, ", "), strings.Join(want.Labels, ", ")},
		{"archived", strconv.FormatBool(got.Archived), strconv.FormatBool(want.Archived)},
		{"latest_id", got.LatestID, shownID(want.Latest.MessageID, want.Latest.Seq, got.LatestID)},
		{"latest_at", millis(got.LatestAt.UnixMilli(), got.LatestAt.IsZero()), millis(want.Latest.At, want.Latest.Seq == 0)},
	}
}

// user compares the inbox and the read pointers of a user in the channels of one partition.
func (r *redisCheck) user(ctx context.Context, number int32, p *projections.Partition, user string, channels []string) error {
	r.mu.Lock()
	r.visited[visit{user, number}] = true
	r.mu.Unlock()
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
		if r.format.NoPointers {
			break
		}
		pointers[i] = pipe.HGetAll(ctx, cache.ReadPointerKey(user, id))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("read pointers of user %q: %w", user, err)
	}
	for i, id := range channels {
		v, _ := p.View(user, id)
		r.count(&r.out.Pairs)
		e := inbox[id]
		delete(inbox, id)
		if e != nil && e.Stamp != v.Stamp && e.Stamp.Dominates(v.Stamp) {
			r.count(&r.out.Newer)
			continue
		}
		if e == nil && v.Member {
			if gone, err := r.goneBeyond(ctx, number, user, id); err != nil {
				return err
			} else if gone {
				r.count(&r.out.Newer)
				continue
			}
		}
		lags := e != nil && r.lags(p, &v, e.Stamp)
		r.entry(number, &v, e, lags)
		if v.Member && !lags && !r.format.NoPointers {
			r.pointer(number, &v, pointers[i].Val())
		}
	}
	if err := r.threads(ctx, number, p, user, channels); err != nil {
		return err
	}
	for id, e := range inbox { // channels without any state of the user in this partition
		if r.of(id) == number {
			r.stray(number, user, e)
		}
	}
	return nil
}

func (r *redisCheck) entry(number int32, v *projections.View, e *cache.Entry, lags bool) {
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
		{"large", strconv.FormatBool(e.Large), strconv.FormatBool(v.Large)},
		{"muted", strconv.FormatBool(e.Muted), strconv.FormatBool(v.Muted)},
		{"read_epoch", u(e.ReadEpoch), u(v.ReadEpoch)},
	}
	fields = append(fields, settingsFields(e, v, lags)...)
	if lags {
		// The pointer in Redis is behind, and never ahead.
		fields = append(fields, field{"last_read_seq", u(e.LastReadSeq), u(min(e.LastReadSeq, v.LastRead.Seq))})
		if e.Known {
			fields = append(fields, field{"unread", u(e.Unread), u(max(e.Unread, v.Unread))}, field{"mentions", u(e.Mentions), u(max(e.Mentions, v.Mentions))})
		}
		r.fields(number, v.ChannelID, v.UserID, key, v.ChannelID, fields)
		return
	}
	fields = append(fields, mentionFields(e, v.DirectMentions, v.FirstMention)...)
	fields = append(fields, field{"offline_unread", u(e.OfflineUnread), u(v.OfflineUnread)}, field{"last_read_seq", u(e.LastReadSeq), u(v.LastRead.Seq)})
	if e.Known {
		fields = append(fields, field{"unread", u(e.Unread), u(v.Unread)}, field{"mentions", u(e.Mentions), u(v.Mentions)})
	} else {
		r.count(&r.out.Unknown)
	}
	if !e.Large {
		fields = append(fields, field{"first_unread_id", e.FirstUnreadID, shownID(v.FirstUnread.MessageID, v.FirstUnread.Seq, e.FirstUnreadID)},
			field{"latest_seq", u(e.LatestSeq), u(v.Latest.Seq)})
	}
	r.fields(number, v.ChannelID, v.UserID, key, v.ChannelID, fields)
}

func (r *redisCheck) pointer(number int32, v *projections.View, hash map[string]string) {
	key := cache.ReadPointerKey(v.UserID, v.ChannelID)
	seq := u(v.LastRead.Seq)
	is := hash["last_read_seq"]
	if len(hash) == 0 {
		is = "0"
	}
	fields := []field{
		{"last_read_seq", is, seq},
		{"last_read_id", hash["last_read_id"], shownID(v.LastRead.MessageID, v.LastRead.Seq, hash["last_read_id"])},
	}
	r.fields(number, v.ChannelID, v.UserID, key, "", fields)
	if wrong(fields) { // a missing pointer is written with its entry
		r.mu.Lock()
		defer r.mu.Unlock()
		r.spoil(cache.InboxKey(v.UserID), v.ChannelID)
	}
}
