package query

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"connectrpc.com/connect"
)

// retryAfter is the hint that goes with unavailable: a partition that moves is usually live again within a second or
// two, and a caller who comes back early is told the same again.
const retryAfter = time.Second

// Names of headers (of metadata, in gRPC).
const (
	headerRetryAfter = "Retry-After"
	// headerHops counts how often a call was forwarded, so that nodes with different views of the group cannot send it
	// in a circle.
	headerHops = "Tidemark-Hops"
	// headerPartitions restricts a call about a user to these partitions of the receiving node ("0,3,7").
	headerPartitions = "Tidemark-Partitions"
	// headerRelayKey shows the receiving node that the caller is another one: RelayKey of its URL.
	headerRelayKey = "Tidemark-Relay-Key"
)

func invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

func exhausted(format string, args ...any) error {
	return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf(format, args...))
}

// unavailable carries the retry hint.
func unavailable(format string, args ...any) error {
	err := connect.NewError(connect.CodeUnavailable, fmt.Errorf(format, args...))
	err.Meta().Set(headerRetryAfter, strconv.Itoa(int(retryAfter/time.Second)))
	return err
}

func channelNotFound(channelID string) error {
	return connect.NewError(connect.CodeNotFound, fmt.Errorf("channel_id %q: no such channel, or it was deleted", channelID))
}

func messageNotFound(channelID, messageID string) error {
	return connect.NewError(connect.CodeNotFound,
		fmt.Errorf("message_id %q: channel %q has no such message, or it was purged or has left the index", messageID, channelID))
}

// peerError turns what another node answered into this node's answer: its code, message and retry hint if it answered,
// unavailable if it could not be reached or did not answer in time.
func peerError(ctx context.Context, url string, err error) error {
	if ctx.Err() != nil && !connect.IsWireError(err) {
		return unavailable("%s did not answer in time: %v", url, context.Cause(ctx))
	}
	var ce *connect.Error
	if !errors.As(err, &ce) || !connect.IsWireError(err) {
		return unavailable("%s, which owns the data, cannot be reached: %v", url, err)
	}
	switch ce.Code() {
	case connect.CodeUnavailable:
		return unavailable("%s", ce.Message())
	case connect.CodeDeadlineExceeded, connect.CodeCanceled:
		return unavailable("%s, which owns the data, gave up: %s", url, ce.Message())
	}
	// A new error: connect drops the metadata of errors that came over the wire, and details are not used.
	return connect.NewError(ce.Code(), errors.New(ce.Message()))
}

func isUnavailable(err error) bool { return connect.CodeOf(err) == connect.CodeUnavailable }
