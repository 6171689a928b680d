package query

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// Cmd is `tidemark query`.
type Cmd struct {
	Unread   unreadCmd   `cmd:"" help:"One user in one channel."`
	Inbox    inboxCmd    `cmd:"" help:"The channels of a user that are not archived, unread first."`
	Threads  threadsCmd  `cmd:"" help:"The threads that a user follows, unread first."`
	Explain  explainCmd  `cmd:"" help:"Which messages an unread count consists of, and what does not count."`
	Channel  channelCmd  `cmd:"" help:"One channel, independently of any user."`
	Readers  readersCmd  `cmd:"" help:"How far each member of a channel has read."`
	Receipts receiptsCmd `cmd:"" help:"Who received and who read a message, and when."`
	Watch    watchCmd    `cmd:"" help:"Show a user's numbers as they change."`
}

// Help has an example.
func (Cmd) Help() string {
	return `
With --at a query is answered as of a moment of the past. The node, or with --offline this process, gets the offsets at that
moment from Kafka, begins with the newest snapshot before it, folds the later records, answers, and removes what it folded. It
refuses a moment that the logs and snapshots no longer cover. A node answers one such query at a time, about one channel.

Example:

    tidemark query unread ann general
    tidemark query explain ann general --at 2026-11-20T10:32
    tidemark query watch ann`
}

// queryFlags are the flags of every query.
type queryFlags struct {
	verbs.JSONFlag
	verbs.NodeFlags
	After []string `placeholder:"TOKEN" help:"Wait until these records are folded: topic/partition/offset, as emit prints."`
}

// after returns the tokens that a call waits for: the last token of each partition.
func (f *queryFlags) after() []string { return events.LatestTokens(f.After) }

// client returns what answers, and how long it may take.
func (f *queryFlags) client(*verbs.App) (queryv1connect.QueryServiceClient, time.Duration, error) {
	return f.Service(), verbs.QueryTimeout, nil
}

// asking are the flags of a query.
type asking interface {
	client(a *verbs.App) (queryv1connect.QueryServiceClient, time.Duration, error)
	Explain(a *verbs.App, err error) error
}

// ask makes one call.
func ask[Req, Res any](a *verbs.App, f asking, req *Req,
	method func(queryv1connect.QueryServiceClient, context.Context, *connect.Request[Req]) (*connect.Response[Res], error),
) (*Res, error) {
	client, patience, err := f.client(a)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(a.Ctx, patience)
	defer cancel()
	res, err := method(client, ctx, connect.NewRequest(req))
	if err != nil {
		return nil, f.Explain(a, err)
	}
	return res.Msg, nil
}
