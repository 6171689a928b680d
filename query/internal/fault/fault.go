package fault

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tidemark/tidemark/internal/auth"
)

// RetryAfter is the hint in an unavailable error. A moving partition is usually live again within a
// second or two, and an earlier retry would get the same error.
const RetryAfter = time.Second

// headerRetryAfter is the name of the header (in gRPC, of the metadata).
const headerRetryAfter = "Retry-After"

// Invalid returns invalid_argument.
func Invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

// Exhausted returns resource_exhausted.
func Exhausted(format string, args ...any) error {
	return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf(format, args...))
}

// Unavailable returns unavailable with the retry hint.
func Unavailable(format string, args ...any) error {
	return UnavailableFor(nil, format, args...)
}

// hidden is an error whose cause goes only to the log, because it has addresses of nodes and
// brokers.
type hidden struct {
	text  string
	cause error
}

func (h *hidden) Error() string { return h.text }

// Hide returns an error that callers see as text, with a cause for the log.
func Hide(text string, cause error) error { return &hidden{text, cause} }

// Cause returns the part of an error that callers do not see, or nil.
func Cause(err error) error {
	var h *hidden
	if !errors.As(err, &h) || h.cause == nil {
		return nil
	}
	cause := h.cause
	if errors.As(cause, &h) {
		cause = h.cause
	}
	return cause
}

// UnavailableFor is Unavailable with a hidden cause (Cause).
func UnavailableFor(cause error, format string, args ...any) error {
	err := connect.NewError(connect.CodeUnavailable, &hidden{fmt.Sprintf(format, args...), cause})
	err.Meta().Set(headerRetryAfter, strconv.Itoa(int(RetryAfter/time.Second)))
	return err
}

// Public returns an error's text for callers, without the addresses in network errors.
func Public(err error) string {
	var (
		network net.Error
		op      *net.OpError
	)
	if errors.As(err, &network) || errors.As(err, &op) {
		return "the brokers do not answer"
	}
	return err.Error()
}

// ChannelNotFound returns not_found for a channel.
func ChannelNotFound(channelID string) error {
	return connect.NewError(connect.CodeNotFound, fmt.Errorf("channel_id %q: no such channel, or it was deleted", channelID))
}

// MessageNotFound returns not_found for a message of a channel that exists.
func MessageNotFound(channelID, messageID string) error {
	return connect.NewError(connect.CodeNotFound,
		fmt.Errorf("message_id %q: channel %q has no such message, or it was purged or has left the index", messageID, channelID))
}

// FromPeer converts another node's answer to an error of this node: its code, message and retry
// hint if it answered; unavailable if it could not be reached or did not answer in time. The text
// includes what, unless it is empty. proof reports that one of the two nodes does not accept the
// other as a member of its cluster.
func FromPeer(ctx context.Context, url, what string, err error) (proof bool, reported error) {
	if what != "" {
		what += ": "
	}
	if ctx.Err() != nil && !connect.IsWireError(err) {
		return false, UnavailableFor(fmt.Errorf("%s did not answer in time: %w", url, context.Cause(ctx)), "%sthe node that owns the data did not answer in time", what)
	}
	var ce *connect.Error
	if distrusted(err) {
		return true, UnavailableFor(fmt.Errorf("%s: %w", url, err), "this node and the owner of the data do not trust each other's certificates: "+
			"the authorities of --peer-ca have to vouch for --peer-cert and --tls-cert of both")
	}
	if !errors.As(err, &ce) || !connect.IsWireError(err) {
		return false, UnavailableFor(fmt.Errorf("%s cannot be reached: %w", url, err), "%sthe node that owns the data cannot be reached", what)
	}
	switch ce.Code() {
	case connect.CodeUnavailable:
		return false, Unavailable("%s", ce.Message())
	case connect.CodeUnauthenticated, connect.CodePermissionDenied:
		for _, ended := range []error{auth.ErrRevoked, auth.ErrExpired} {
			if ce.Message() == ended.Error() { // the owner noticed the end of a stream first
				return false, UnauthenticatedFor(ended)
			}
		}
		// This node has authenticated the caller, so the other node rejects this node.
		return true, Unavailable("the owner of the data does not take this node for one of its cluster: %s", ce.Message())
	case connect.CodeDeadlineExceeded, connect.CodeCanceled:
		return false, UnavailableFor(fmt.Errorf("%s gave up: %w", url, err), "%sthe node that owns the data gave up: %s", what, ce.Message())
	}
	// Return a new error: connect drops the metadata of errors that came over the wire, and details
	// are not used.
	return false, connect.NewError(ce.Code(), errors.New(ce.Message()))
}

// distrusted reports whether a TLS handshake failed because one side does not trust the other: by
// an alert, or because this node could not verify the certificate.
func distrusted(err error) bool {
	var (
		alert    *net.OpError
		unknown  x509.UnknownAuthorityError
		invalid  x509.CertificateInvalidError
		hostname x509.HostnameError
	)
	return errors.As(err, &alert) && alert.Op == "remote error" || errors.As(err, &unknown) || errors.As(err, &invalid) || errors.As(err, &hostname)
}

// IsUnavailable reports whether the code of err is unavailable.
func IsUnavailable(err error) bool { return connect.CodeOf(err) == connect.CodeUnavailable }

// Unauthenticated returns unauthenticated, with a text about what a client has to send.
func Unauthenticated(message string) error { return UnauthenticatedFor(errors.New(message)) }

// UnauthenticatedFor is Unauthenticated for an error.
func UnauthenticatedFor(why error) error {
	err := connect.NewError(connect.CodeUnauthenticated, why)
	err.Meta().Set("WWW-Authenticate", "Bearer")
	return err
}

// ErrOverloaded is the state of this node, not a fault of the caller: another node may take the
// call.
var ErrOverloaded = errors.New("this node has too many requests in memory: send the call again, or ask another node")

// ExhaustedFor returns resource_exhausted, or unavailable for ErrOverloaded, with the time after
// which a call may succeed: in seconds for HTTP (Retry-After), and as RetryInfo.
func ExhaustedFor(wait time.Duration, why error) error {
	wait = max(wait, time.Millisecond)
	code := connect.CodeResourceExhausted
	if errors.Is(why, ErrOverloaded) {
		code = connect.CodeUnavailable
	}
	err := connect.NewError(code, why)
	err.Meta().Set(headerRetryAfter, strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	if d, bad := connect.NewErrorDetail(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); bad == nil {
		err.AddDetail(d)
	}
	return err
}
