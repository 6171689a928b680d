package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// NodeFlags set the node to call, and the token.
type NodeFlags struct {
	Addr    string `default:"http://127.0.0.1:8080" placeholder:"URL" help:"Any node (${default}, or that of the current context)."`
	Context string `placeholder:"NAME" help:"Query the node of this context, with its token: see tidemark context."`
	callFlags
}

// where is the address in error messages.
func (f *NodeFlags) where() string {
	if f.Context == "" {
		return f.Addr
	}
	return fmt.Sprintf("%s (context %s)", f.Addr, f.Context)
}

// Validate checks the address and reads the files.
func (f *NodeFlags) Validate() error { return f.check("--addr", f.Addr) }

// QueryTimeout bounds a call, including the wait for --after. The node itself answers after at most
// 10 s.
const QueryTimeout = 15 * time.Second

// Service is the client of the query API.
func (f *NodeFlags) Service() queryv1connect.QueryServiceClient {
	token, _ := f.token() // Validate has read the file
	return queryv1connect.NewQueryServiceClient(f.http(), f.Addr, connect.WithInterceptors(bearer(token)))
}

// HTTP returns the client to call with, and the token; empty: none.
func (f *NodeFlags) HTTP() (*http.Client, string) {
	token, _ := f.token() // Validate has read the file
	return f.http(), token
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

// Explain turns an error of a call into a sentence.
func (f *NodeFlags) Explain(a *App, err error) error {
	var answer *connect.Error
	if !errors.As(err, &answer) {
		return err
	}
	if connect.IsWireError(err) {
		hint := ""
		if token, _ := f.token(); answer.Code() == connect.CodeUnauthenticated && token == "" { // Validate has read the file
			hint = "; here: --token-file, or $TIDEMARK_TOKEN"
		}
		if id := answer.Meta().Get(obs.RequestIDHeader); id != "" && (answer.Code() == connect.CodeInternal || answer.Code() == connect.CodeUnknown) {
			hint = "; the node's log has it as request_id " + term.Printable(id)
		}
		return fmt.Errorf("%s: %s%s", answer.Code(), answer.Message(), hint)
	}
	if a.Ctx.Err() != nil {
		return context.Canceled
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return fmt.Errorf("no node answers at %s (%w): start one with `tidemark dev` or `tidemark run`, or name another with --addr",
			f.where(), network)
	}
	if answer.Code() == connect.CodeDeadlineExceeded {
		return fmt.Errorf("%s has not answered within %s: is it a node of Tidemark? Name another with --addr", f.where(), QueryTimeout)
	}
	// The library reports a connection reset as canceled, unavailable or unknown, depending on the
	// state of the call.
	if code := answer.Code(); code == connect.CodeUnavailable || code == connect.CodeCanceled || brokenOff(err) {
		return fmt.Errorf("%s closed the connection without an answer (%s): the node was stopped, or this is not a node; name "+
			"another with --addr", f.where(), why(err))
	}
	return fmt.Errorf("%s does not answer as a node of Tidemark does (%s): is it one? Name another with --addr", f.where(), answer.Message())
}

// brokenOff reports whether an error is of a connection that ended in the middle.
func brokenOff(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// why is the reason of a connection's end, if the error has one.
func why(err error) string {
	var network *net.OpError
	var answer *connect.Error
	switch {
	case errors.As(err, &network):
		return network.Err.Error()
	case errors.Is(err, context.Canceled):
		return "the connection was reset"
	case errors.As(err, &answer):
		return answer.Message()
	}
	return err.Error()
}
