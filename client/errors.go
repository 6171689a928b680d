package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// The codes of errors. Those of a node are in docs/query-api.md; the last four are of this client.
const (
	InvalidArgument   = "invalid_argument"   // a field is missing, malformed or too large; a page token has aged
	NotFound          = "not_found"          // no such channel or message, or one that the token may not see
	Unauthenticated   = "unauthenticated"    // no token, or one that the node does not accept
	PermissionDenied  = "permission_denied"  // the token does not allow the call
	ResourceExhausted = "resource_exhausted" // too many calls, or too large a one
	Unavailable       = "unavailable"        // a partition moves, the node stops or cannot be reached
	Unimplemented     = "unimplemented"      // the address has no such method
	Unknown           = "unknown"            // the answer is not that of a node

	Timeout  = "timeout"  // there was no answer in time
	Closed   = "closed"   // the device was closed before the command was answered
	Overflow = "overflow" // too many commands wait for an answer
)

// Error is an error answer, or a call without an answer.
type Error struct {
	Code    string
	Message string
	// RetryAfter is how long to wait before trying again; 0: the node did not state it.
	RetryAfter time.Duration
	// RequestID is the id of the call in the node's log; empty: the node did not state it.
	RequestID string

	err error
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap returns the error of the network, nil if the node answered.
func (e *Error) Unwrap() error { return e.err }

// Temporary reports whether the same call may work later without a change.
func (e *Error) Temporary() bool {
	return e.Code == Unavailable || e.Code == ResourceExhausted && e.RetryAfter > 0
}

// CodeOf returns the code of err, or an empty text if it is no *Error.
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// codeOfStatus has the codes of answers that do not come from the API but from a proxy or another
// program.
var codeOfStatus = map[int]string{
	http.StatusBadRequest: InvalidArgument, http.StatusUnauthorized: Unauthenticated, http.StatusForbidden: PermissionDenied,
	http.StatusNotFound: Unimplemented, http.StatusTooManyRequests: ResourceExhausted,
	http.StatusBadGateway: Unavailable, http.StatusServiceUnavailable: Unavailable, http.StatusGatewayTimeout: Unavailable,
}

// errorOf returns the error of an answer with a status other than 200.
func errorOf(status int, header http.Header, body []byte) *Error {
	e := &Error{RequestID: header.Get("X-Request-Id")}
	if seconds, err := strconv.ParseFloat(header.Get("Retry-After"), 64); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds * float64(time.Second))
	}
	var reported struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &reported) == nil && reported.Code != "" {
		e.Code, e.Message = reported.Code, reported.Message
		return e
	}
	e.Code, e.Message = Unknown, fmt.Sprintf("HTTP %d without an error of the API", status)
	if code, ok := codeOfStatus[status]; ok {
		e.Code = code
	}
	return e
}
