package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

type queryCmd struct {
	Unread   queryUnreadCmd   `cmd:"" help:"One user in one channel."`
	Inbox    queryInboxCmd    `cmd:"" help:"All channels of a user, unread first."`
	Threads  queryThreadsCmd  `cmd:"" help:"The threads that a user follows, unread first."`
	Explain  queryExplainCmd  `cmd:"" help:"Which messages are behind a number, and what does not count."`
	Channel  queryChannelCmd  `cmd:"" help:"What is known of a channel."`
	Readers  queryReadersCmd  `cmd:"" help:"How far each member of a channel has read."`
	Receipts queryReceiptsCmd `cmd:"" help:"Who received and who read a message, and when."`
	Watch    queryWatchCmd    `cmd:"" help:"Show a user's numbers as they change."`
}

func (queryCmd) Help() string {
	return `
Example:

    tidemark query unread ann general
    tidemark query watch ann`
}

// queryFlags are those of every query.
type queryFlags struct {
	jsonFlag
	nodeFlags
	After []string `placeholder:"TOKEN" help:"Wait until these records are folded: topic/partition/offset, as emit prints."`
}

// nodeFlags say which node is asked, and as whom.
type nodeFlags struct {
	Addr string `default:"http://127.0.0.1:8080" placeholder:"URL" help:"Any node (${default})."`
	callFlags
}

// Validate checks the address and reads the files.
func (f *nodeFlags) Validate() error { return f.check("--addr", f.Addr) }

// queryTimeout bounds a call, waiting for --after included; the node itself answers after 10 s at the latest.
const queryTimeout = 15 * time.Second

func (f *nodeFlags) service() queryv1connect.QueryServiceClient {
	token, _ := f.token() // Validate has read the file
	return queryv1connect.NewQueryServiceClient(f.http(), f.Addr, connect.WithInterceptors(bearer(token)))
}

// bearer sends a token with each call, if there is one.
type bearer string

func (b bearer) set(h http.Header) {
	if b != "" {
		h.Set("Authorization", "Bearer "+string(b))
	}
}

// WrapUnary adds the token to a call.
func (b bearer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		b.set(req.Header())
		return next(ctx, req)
	}
}

// WrapStreamingClient adds the token to a stream.
func (b bearer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		b.set(conn.RequestHeader())
		return conn
	}
}

// WrapStreamingHandler is for servers.
func (b bearer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// ask makes one call.
func ask[Req, Res any](a *app, f *queryFlags, req *Req,
	method func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error),
) (*Res, error) {
	ctx, cancel := context.WithTimeout(a.ctx, queryTimeout)
	defer cancel()
	res, err := method(ctx, connect.NewRequest(req))
	if err != nil {
		return nil, f.explain(err)
	}
	return res.Msg, nil
}

// explain turns an error of a call into a sentence.
func (f *nodeFlags) explain(err error) error {
	var answer *connect.Error
	if !errors.As(err, &answer) {
		return err
	}
	if connect.IsWireError(err) {
		hint := ""
		if token, _ := f.token(); answer.Code() == connect.CodeUnauthenticated && token == "" { // Validate has read the file
			hint = "; here: --token-file, or $TIDEMARK_TOKEN"
		}
		return fmt.Errorf("%s: %s%s", answer.Code(), answer.Message(), hint)
	}
	if answer.Code() == connect.CodeCanceled {
		return context.Canceled
	}
	var network *net.OpError
	if errors.As(err, &network) {
		return fmt.Errorf("no node answers at %s (%w): start one with `tidemark dev` or `tidemark run`, or name another with --addr",
			f.Addr, network)
	}
	if answer.Code() == connect.CodeDeadlineExceeded {
		return fmt.Errorf("%s has not answered within %s: is it a node of Tidemark? Name another with --addr", f.Addr, queryTimeout)
	}
	if answer.Code() == connect.CodeUnavailable {
		return fmt.Errorf("%s broke off without an answer (%s): the node was stopped, or this is none; name another with --addr", f.Addr, answer.Message())
	}
	return fmt.Errorf("%s does not answer as a node of Tidemark does (%s): is it one? Name another with --addr", f.Addr, answer.Message())
}
