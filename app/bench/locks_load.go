package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/traffic"
	queryv1 "github.com/tidemark/tidemark/query/queryv1"
)

// threadChannels is the number of channels with threads of the user.
const threadChannels = 100

func threadOf(i int) (channel, root string) {
	return fmt.Sprintf("threads-%d", i%threadChannels), fmt.Sprintf("root-%d", i)
}

func wideChannel(i int) string { return fmt.Sprintf("wide-%d", i) }

// crowdRead returns a read by a member of the large channel.
func (a *asked) crowdRead() *eventsv1.ReadEvent {
	return traffic.Read(crowdChannel, fmt.Sprintf("crowd-%d", a.rng.IntN(a.crowd)), traffic.ReadSeq(1+a.rng.Uint32N(uint32(a.messages))))
}

// others returns events that a mix does not have: reads of the large channel, messages to the users
// of many channels and threads, and now and then the erasure of a member of the large channel.
func (a *asked) others(i int) (all []proto.Message) {
	for range 20 {
		all = append(all, a.crowdRead())
	}
	for j := range 10 {
		channel, root := threadOf(a.rng.IntN(a.followed))
		all = append(all, posts(wideChannel(a.rng.IntN(a.wide)), fmt.Sprintf("w-%d-%d", i, j), "other", ""),
			posts(channel, fmt.Sprintf("%s-%d-%d", root, i, j), "other", root))
	}
	if i%20 == 0 {
		all = append(all, posts(crowdChannel, fmt.Sprintf("again-%d", i), "author", ""),
			traffic.Read(crowdChannel, fmt.Sprintf("crowd-%d", a.rng.IntN(a.crowd)), &eventsv1.UserErased{}))
	}
	return all
}

// everything runs all queries for a while, beside the fold.
func (a *asked) everything(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.lasts)
	defer cancel()
	g, ctx := guard.WithContext(ctx)
	repeatedly := func(what string, pause time.Duration, f func(i int) error) {
		g.Go(what, func() error {
			for i := 0; ctx.Err() == nil; i++ {
				if err := f(i); err != nil && !ended(ctx, err) {
					return fmt.Errorf("%s: %w", what, err)
				}
				time.Sleep(pause)
			}
			return nil
		})
	}
	repeatedly("writing the mix", 0, func(int) error { return a.s.pace(ctx, a.rate, a.rate) })
	repeatedly("writing other events", 50*time.Millisecond, func(i int) error {
		_, err := a.write(ctx, a.others(i)...)
		return err
	})
	for _, c := range a.calls() {
		repeatedly(c.name, 20*time.Millisecond, func(i int) error { return c.ask(ctx, i) })
	}
	for _, user := range []string{wideUser, follower, traffic.UserID(0), traffic.UserID(1), "crowd-0", "crowd-1"} {
		repeatedly("watching", 10*time.Millisecond, func(int) error { return a.follow(ctx, user, a.lasts/10) })
	}
	repeatedly("metrics", 500*time.Millisecond, func(int) error {
		_, err := a.registry.Gather()
		return err
	})
	repeatedly("a copy of the store", time.Second, func(i int) error {
		dir := filepath.Join(a.dir, fmt.Sprintf("copy-%d", i))
		err := a.proc.Checkpoint(int32(i%livePartitions), dir)
		return errors.Join(err, os.RemoveAll(dir))
	})
	return g.Wait()
}

// call is one query.
type call struct {
	name string
	ask  func(ctx context.Context, i int) error
}

// calls returns all queries about the most expensive users and channels, and about those of the
// mix.
func (a *asked) calls() []call {
	mix, q := a.s.mix, a.queries
	someone := func(i int) (user, channel string) {
		c := i % mix.Channels
		return traffic.UserID(mix.Member(c, i%mix.Members)), traffic.ChannelID(c)
	}
	return []call{
		{"GetInbox", func(ctx context.Context, i int) error {
			user, _ := someone(i)
			if i%4 == 0 {
				user = wideUser
			}
			_, err := q.GetInbox(ctx, connect.NewRequest(&queryv1.GetInboxRequest{UserId: user}))
			return err
		}},
		{"GetThreads", func(ctx context.Context, _ int) error {
			_, err := q.GetThreads(ctx, connect.NewRequest(&queryv1.GetThreadsRequest{UserId: follower}))
			return err
		}},
		{"GetUnread", func(ctx context.Context, i int) error {
			user, channel := someone(i)
			_, err := q.GetUnread(ctx, connect.NewRequest(&queryv1.GetUnreadRequest{UserId: user, ChannelId: channel}))
			return err
		}},
		{"GetChannel", func(ctx context.Context, i int) error {
			_, channel := someone(i)
			_, err := q.GetChannel(ctx, connect.NewRequest(&queryv1.GetChannelRequest{ChannelId: channel}))
			return err
		}},
		{"GetReceipts", func(ctx context.Context, i int) error {
			return a.receiptsOf(ctx, fmt.Sprintf("m%d", 1+i*37%a.messages), uint32(50+i%2*950))
		}},
		{"GetReaders", func(ctx context.Context, i int) error {
			_, err := q.GetReaders(ctx, connect.NewRequest(&queryv1.GetReadersRequest{ChannelId: crowdChannel, PageSize: uint32(50 + i%2*950)}))
			return err
		}},
		{"ExplainUnread", func(ctx context.Context, i int) error {
			user, channel := someone(i)
			if i%2 == 0 {
				user, channel = fmt.Sprintf("crowd-%d", i%a.crowd), crowdChannel
			}
			_, err := q.ExplainUnread(ctx, connect.NewRequest(&queryv1.ExplainUnreadRequest{UserId: user, ChannelId: channel}))
			return err
		}},
		{"ListUserChannels", func(ctx context.Context, _ int) error {
			_, err := q.ListUserChannels(ctx, connect.NewRequest(&queryv1.ListUserChannelsRequest{OfUserId: wideUser}))
			return err
		}},
	}
}

func (a *asked) receiptsOf(ctx context.Context, message string, size uint32) error {
	_, err := a.queries.GetReceipts(ctx, connect.NewRequest(&queryv1.GetReceiptsRequest{
		ChannelId: crowdChannel, MessageId: message, PageSize: size}))
	return err
}

// follow watches a user for a while.
func (a *asked) follow(ctx context.Context, user string, lasts time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	stream, err := a.queries.WatchUnread(ctx, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: user}))
	if err == nil {
		for stream.Receive() {
			continue
		}
		err = errors.Join(stream.Err(), stream.Close())
	}
	if ended(ctx, err) {
		return nil
	}
	return err
}

// ended reports whether err is only the end of ctx, which a call may notice first.
func ended(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || connect.CodeOf(err) == connect.CodeDeadlineExceeded
}
