package query

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// unknownOwner calls brokers that do not answer.
type unknownOwner struct{ noNode }

func (unknownOwner) Partitions() int32 { return 1 }

func (unknownOwner) Owner(context.Context, int32) (string, error) {
	return "", fmt.Errorf("unable to dial: %w", &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 9092}, Err: errors.New("refused")})
}

// Whatever fails between nodes, or with the brokers, a caller sees none of their addresses. The log
// has them.
func TestErrorsTellNoAddresses(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	hangsUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer hangsUp.Close()
	for name, c := range map[string]struct {
		node    Node
		address string
	}{
		"an owner that does not listen": {ownerAt{url: gone.URL}, strings.TrimPrefix(gone.URL, "http://")},
		"an owner that hangs up":        {ownerAt{url: hangsUp.URL}, strings.TrimPrefix(hangsUp.URL, "http://")},
		"an owner with a bad URL":       {ownerAt{url: "10.1.2.3:80"}, "10.1.2.3:80"},
		"brokers that do not listen":    {unknownOwner{}, "10.1.2.3:9092"},
	} {
		var log testkit.Output
		n := &node{srv: serve(t, Handler(Config{Node: c.node, Self: "http://self", Logger: slog.New(slog.NewTextHandler(&log, nil))}))}
		for method, body := range map[string]string{"GetUnread": `{"user_id":"ann","channel_id":"c"}`, "GetInbox": `{"user_id":"ann"}`} {
			status, got := n.callJSON(t, method, body)
			if status != http.StatusServiceUnavailable || strings.Contains(got, c.address) || strings.Contains(got, "dial") {
				t.Errorf("%s, %s: %d %s", name, method, status, got)
			}
		}
		if !strings.Contains(log.String(), c.address) {
			t.Errorf("%s: the log does not have the address:\n%s", name, log.String())
		}
	}
}
