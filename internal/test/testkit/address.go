package testkit

import (
	"net"
	"sync"
	"testing"
)

// handed has the addresses that FreeAddress has returned.
var handed sync.Map

// FreeAddress returns an address of this machine on which nobody listens, another one each time: what
// will listen on the last one may not do so yet.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // only at the end, so that the next try gets another
		if _, before := handed.LoadOrStore(l.Addr().String(), true); !before {
			return l.Addr().String()
		}
	}
}
