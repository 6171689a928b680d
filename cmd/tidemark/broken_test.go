package main

import (
	"net"
	"strings"
	"testing"
)

// resetting accepts connections and resets them: at once, or when something was said.
func resetting(t *testing.T, atOnce bool) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if !atOnce {
				_, _ = c.Read(make([]byte, 64))
			}
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}()
	return l.Addr().String()
}

// A connection that breaks off is said to, whatever was under way: nobody has canceled anything.
func TestBrokenConnectionsInWords(t *testing.T) {
	for _, atOnce := range []bool{true, false} {
		addr := resetting(t, atOnce)
		url := "http://" + addr
		for range 4 { // which error it is varies
			for _, args := range [][]string{
				{"query", "unread", "ann", "general", "--addr", url},
				{"query", "inbox", "ann", "--addr", url},
				{"query", "watch", "ann", "--addr", url},
				{"snapshot", "create", "--node", url},
			} {
				r := tidemark(t, "", args...)
				reported := strings.Contains(r.errout, url+" closed the connection without an answer") || // or was reset while it was made
					atOnce && strings.Contains(r.errout, "no node answers at "+url)
				if r.code != exitFailed || strings.Contains(r.errout, "context canceled") || !reported {
					t.Errorf("at once %t: %s: %+v", atOnce, strings.Join(args[:2], " "), r)
				}
			}
		}
		for _, args := range [][]string{
			{"verify", "--brokers", addr, "--no-redis"}, {"topics", "check", "--brokers", addr}, {"emit", "--brokers", addr},
			{"deadletters", "list", "--brokers", addr}, {"erase-user", "--user", "ann", "--yes", "--redis", "redis://" + addr},
		} {
			if atOnce {
				break // a broker's client tries for 10 s
			}
			if r := tidemark(t, "", args...); r.code != exitFailed || strings.Contains(r.errout, "context canceled") || !strings.Contains(r.errout, addr) {
				t.Errorf("%s: %+v", strings.Join(args[:2], " "), r)
			}
		}
	}
}
