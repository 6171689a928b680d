package query

import (
	"context"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/verbs"
)

// Cmd is `tidemark query`.
type Cmd struct {
	Unread   unreadCmd   `cmd:"" help:"One user in one channel."`
	Inbox    inboxCmd    `cmd:"" help:"The channels of a user that are not archived, unread first."`
	Threads  threadsCmd  `cmd:"" help:"The threads that a user follows, unread first."`
	Explain  explainCmd  `cmd:"" help:"Which messages are behind a number, and what does not count."`
	Channel  channelCmd  `cmd:"" help:"What is known of a channel."`
	Readers  readersCmd  `cmd:"" help:"How far each member of a channel has read."`
	Receipts receiptsCmd `cmd:"" help:"Who received and who read a message, and when."`
	Watch    watchCmd    `cmd:"" help:"Show a user's numbers as they change."`
}

// Help has an example.
func (Cmd) Help() string {
	return `
Example:

    tidemark query unread ann general
    tidemark query watch ann`
}

// queryFlags are the flags of every query.
type queryFlags struct {
	verbs.JSONFlag
	verbs.NodeFlags
	After []string `placeholder:"TOKEN" help:"Wait until these records are folded: topic/partition/offset, as emit prints."`
}

// after returns the tokens that a call waits for: of all tokens that emit printed, the last one of
// each partition.
func (f *queryFlags) after() []string { return events.LatestTokens(f.After) }

// ask makes one call.
func ask[Req, Res any](a *verbs.App, f *queryFlags, req *Req,
	method func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error),
) (*Res, error) {
	ctx, cancel := context.WithTimeout(a.Ctx, verbs.QueryTimeout)
	defer cancel()
	res, err := method(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, f.Explain(a, err)
	}
	return res.Msg, nil
}
