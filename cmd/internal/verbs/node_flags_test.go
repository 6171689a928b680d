package verbs_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// node answers GetUnread with err, and remembers the last token that it received.
type node struct {
	queryv1connect.UnimplementedQueryServiceHandler
	err   error
	token string
}

func (n *node) GetUnread(_ context.Context, req *connect.Request[queryv1.GetUnreadRequest]) (*connect.Response[queryv1.ChannelUnread], error) {
	n.token = req.Header().Get("Authorization")
	return connect.NewResponse(&queryv1.ChannelUnread{}), n.err
}

func (n *node) WatchUnread(_ context.Context, req *connect.Request[queryv1.WatchUnreadRequest], _ *connect.ServerStream[queryv1.WatchUnreadResponse]) error {
	n.token = req.Header().Get("Authorization")
	return n.err
}

// ask calls f's node and explains the error.
func ask(t *testing.T, f *verbs.NodeFlags) string {
	t.Helper()
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	a, _, _ := newApp(t)
	_, err := f.Service().GetUnread(t.Context(), connect.NewRequest(&queryv1.GetUnreadRequest{UserId: "u"}))
	if err == nil {
		return ""
	}
	return f.Explain(a, err).Error()
}

// Calls and streams carry the token of the file, or else of the environment.
func TestTokenIsSent(t *testing.T) {
	n := &node{}
	_, h := queryv1connect.NewQueryServiceHandler(n)
	s := httptest.NewServer(h)
	defer s.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("of-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, env, want string }{
		{"", "", ""}, {"", " of-env ", "Bearer of-env"}, {file, "of-env", "Bearer of-file"},
	} {
		t.Setenv("TIDEMARK_TOKEN", c.env)
		f := &verbs.NodeFlags{Addr: s.URL}
		f.TokenFile = c.file
		if message := ask(t, f); message != "" || n.token != c.want {
			t.Errorf("%+v: a call has %q (%s)", c, n.token, message)
		}
		n.token = "none"
		stream, err := f.Service().WatchUnread(t.Context(), connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: "u"}))
		if err == nil {
			for stream.Receive() {
				continue
			}
			err = stream.Close()
		}
		if err != nil || n.token != c.want {
			t.Errorf("%+v: a stream has %q, %v", c, n.token, err)
		}
	}
}

// Each way in which a node fails to answer has its own error.
func TestExplain(t *testing.T) {
	t.Setenv("TIDEMARK_TOKEN", "")
	n := &node{}
	_, h := queryv1connect.NewQueryServiceHandler(n)
	s := httptest.NewServer(h)
	defer s.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			c.Close()
		}
	}))
	defer gone.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	l.Close()
	for _, c := range []struct {
		name, addr, want string
		err              error
	}{
		{"refused by the node", s.URL, "not_found: no such user", connect.NewError(connect.CodeNotFound, errors.New("no such user"))},
		{"without a token", s.URL, "here: --token-file, or $TIDEMARK_TOKEN", connect.NewError(connect.CodeUnauthenticated, errors.New("who are you?"))},
		{"nobody listens", nobody, "no node answers at " + nobody, nil},
		{"another server", other.URL, "does not answer as a node of Tidemark does", nil},
		{"breaks off", gone.URL, "closed the connection without an answer", nil},
	} {
		n.err = c.err
		if message := ask(t, &verbs.NodeFlags{Addr: c.addr}); !strings.Contains(message, c.want) {
			t.Errorf("%s: %q, want %q", c.name, message, c.want)
		}
	}
}

// Invalid URLs and missing files are refused before a call, with the flag's name.
func TestNodeFlagsAreChecked(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	token, ca := verbs.NodeFlags{Addr: "http://n"}, verbs.NodeFlags{Addr: "http://n"}
	token.TokenFile, ca.TLSCA = missing, missing
	for want, f := range map[string]verbs.NodeFlags{
		"--addr \"n:8080\"":  {Addr: "n:8080"},
		"--addr \"ftp://n\"": {Addr: "ftp://n"},
		"--token-file: ":     token,
		"--tls-ca: ":         ca,
	} {
		if err := f.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
	}
	var running verbs.RunningFlags
	if err := running.Check(); err != nil {
		t.Errorf("without --node: %v", err)
	}
	running.Node = "n"
	if err := running.Check(); err == nil || !strings.HasPrefix(err.Error(), `--node "n"`) {
		t.Errorf("the error is %v", err)
	}
	running.Node = "http://n:1"
	if c := running.Admin(); running.Check() != nil || c.URL != "http://n:1" {
		t.Errorf("%+v", c)
	}
}
