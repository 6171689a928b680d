package fault

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/auth"
)

// The first bad id decides, and the error names its field.
func TestCheckIDs(t *testing.T) {
	for want, ids := range map[string][]ID{
		"":                                  {{"user_id", "ann"}, {"channel_id", strings.Repeat("x", events.MaxIDBytes)}},
		"user_id is missing":                {{"user_id", ""}, {"channel_id", "\x00"}},
		"channel_id has 256 bytes":          {{"user_id", "ann"}, {"channel_id", strings.Repeat("x", events.MaxIDBytes+1)}},
		"channel_id is not valid UTF-8":     {{"channel_id", "a\xff"}},
		"thread_id has a control character": {{"thread_id", "a\nb"}},
	} {
		err := CheckIDs(ids...)
		if want == "" && err != nil || want != "" && (connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(fmt.Sprint(err), want)) {
			t.Errorf("%q: %v, want %q", ids, err, want)
		}
	}
}

// The text does not contain the hidden cause, and the log gets the innermost cause.
func TestHiddenCause(t *testing.T) {
	cause := errors.New("dial 10.0.0.7:9092")
	err := UnavailableFor(Hide("outer", cause), "try again")
	if connect.CodeOf(err) != connect.CodeUnavailable || strings.Contains(err.Error(), "10.0.0.7") || !IsUnavailable(err) {
		t.Errorf("callers see %v", err)
	}
	if got := Cause(fmt.Errorf("wrapped: %w", err)); got != cause { //nolint:errorlint // exactly this error
		t.Errorf("the cause is %v", got)
	}
	for _, err := range []error{nil, errors.New("plain"), Unavailable("no cause"), Hide("nor here", nil)} {
		if got := Cause(err); got != nil {
			t.Errorf("%v has the cause %v", err, got)
		}
	}
	var ce *connect.Error
	if errors.As(err, &ce); ce.Meta().Get("Retry-After") != "1" {
		t.Errorf("the hint is %q", ce.Meta().Get("Retry-After"))
	}
}

// Callers see no addresses of the network.
func TestPublic(t *testing.T) {
	op := &net.OpError{Op: "dial", Err: errors.New("10.0.0.7")}
	for _, c := range []struct {
		err  error
		want string
	}{{fmt.Errorf("write: %w", op), "the brokers do not answer"}, {errors.New("too large"), "too large"}} {
		if got := Public(c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// wire returns err as a caller of a node gets it.
func wire(t *testing.T, err error) error {
	t.Helper()
	h := connect.NewUnaryHandler("/s/m", func(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[emptypb.Empty], error) {
		return nil, err
	})
	s := httptest.NewServer(h)
	defer s.Close()
	_, got := connect.NewClient[emptypb.Empty, emptypb.Empty](http.DefaultClient, s.URL+"/s/m").CallUnary(t.Context(), connect.NewRequest(&emptypb.Empty{}))
	if got == nil {
		t.Fatalf("%v did not come over the wire", err)
	}
	return got
}

// Each way in which another node fails to answer has its code. Addresses appear only in the log.
func TestFromPeer(t *testing.T) {
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name  string
		ctx   context.Context
		err   error
		code  connect.Code
		text  string
		proof bool
	}{
		{"late", late, errors.New("cut"), connect.CodeUnavailable, "did not answer in time", false},
		{"unreachable", t.Context(), &net.OpError{Op: "dial", Err: errors.New("refused")}, connect.CodeUnavailable, "cannot be reached", false},
		{"an alert", t.Context(), &net.OpError{Op: "remote error", Err: errors.New("bad certificate")}, connect.CodeUnavailable, "--peer-ca", true},
		{"an unknown authority", t.Context(), x509.UnknownAuthorityError{}, connect.CodeUnavailable, "--peer-ca", true},
		{"moved", t.Context(), wire(t, Unavailable("partition 3 is moving")), connect.CodeUnavailable, "partition 3 is moving", false},
		{"not believed", t.Context(), wire(t, connect.NewError(connect.CodeUnauthenticated, errors.New("no token"))), connect.CodeUnavailable, "for one of its cluster: no token", true},
		{"forbidden", t.Context(), wire(t, connect.NewError(connect.CodePermissionDenied, errors.New("no"))), connect.CodeUnavailable, "for one of its cluster: no", true},
		{"revoked", t.Context(), wire(t, connect.NewError(connect.CodeUnauthenticated, auth.ErrRevoked)), connect.CodeUnauthenticated, auth.ErrRevoked.Error(), false},
		{"gave up", t.Context(), wire(t, connect.NewError(connect.CodeDeadlineExceeded, errors.New("10 s"))), connect.CodeUnavailable, "gave up: 10 s", false},
		{"answered", t.Context(), wire(t, ChannelNotFound("town")), connect.CodeNotFound, `channel_id "town": no such channel`, false},
	} {
		proof, reported := FromPeer(c.ctx, "http://10.0.0.7:8080", "", c.err)
		if connect.CodeOf(reported) != c.code || proof != c.proof || !strings.Contains(reported.Error(), c.text) {
			t.Errorf("%s: %v, %v; want %v %q, %v", c.name, reported, proof, c.code, c.text, c.proof)
		}
		if strings.Contains(reported.Error(), "10.0.0.7") {
			t.Errorf("%s: callers see an address: %v", c.name, reported)
		}
	}
}

// The answer has the waiting time twice, rounded up to seconds in the header. An overloaded node
// returns another code than a limit of the caller.
func TestExhaustedFor(t *testing.T) {
	for _, c := range []struct {
		wait, detail time.Duration
		why          error
		header       string
		code         connect.Code
	}{
		{1500 * time.Millisecond, 1500 * time.Millisecond, errors.New("too often"), "2", connect.CodeResourceExhausted},
		{0, time.Millisecond, fmt.Errorf("here: %w", ErrOverloaded), "1", connect.CodeUnavailable},
	} {
		var ce *connect.Error
		if err := ExhaustedFor(c.wait, c.why); !errors.As(err, &ce) || ce.Code() != c.code || ce.Meta().Get("Retry-After") != c.header {
			t.Fatalf("%v: %v, %v", c.wait, err, ce.Meta())
		}
		if len(ce.Details()) != 1 {
			t.Fatalf("%d details", len(ce.Details()))
		}
		d, err := ce.Details()[0].Value()
		if info, ok := d.(*errdetails.RetryInfo); err != nil || !ok || info.RetryDelay.AsDuration() != c.detail {
			t.Errorf("%v: %v, %v", c.wait, d, err)
		}
	}
}

func TestUnauthenticated(t *testing.T) {
	var ce *connect.Error
	if err := Unauthenticated("who?"); !errors.As(err, &ce) || ce.Code() != connect.CodeUnauthenticated || ce.Meta().Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("%v", err)
	}
	if err := MessageNotFound("town", "m1"); connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), `message_id "m1": channel "town"`) {
		t.Errorf("%v", err)
	}
	if err := Exhausted("no more than %d", 3); connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.HasSuffix(err.Error(), "no more than 3") {
		t.Errorf("%v", err)
	}
}
