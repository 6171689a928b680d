package gateway

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/limit"
)

// The default limits are those in docs/gateway.md.
func TestLimitsByDefault(t *testing.T) {
	l := Limits{}.WithDefaults()
	for _, c := range []struct{ what, got, want string }{
		{"a frame", size(l.FrameBytes), "64 KiB"}, {"the queue", size(l.QueueBytes), "1 MiB"},
		{"a write", l.WriteTimeout.String(), time.Second.String()}, {"a ping", l.PingEvery.String(), (25 * time.Second).String()},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
	if l.Focused != 128 || l.FramesPerSecond != 50 || l.HandshakesPerSecond != 20 || l.AddressFramesPerSecond != 2000 {
		t.Errorf("%+v", l)
	}
	page, err := os.ReadFile("../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"| frame | 64 KiB | `--frame-bytes` |", "| focused channels of a connection | 128 | `--max-focused` |",
		"| bytes that wait for a connection | 1 MiB | `--send-queue` |", "| a write of 64 KiB | 1 s | `--write-timeout` |", "| ping | 25 s | `--ping-every` |",
		"| frames of a user | 50/s, 200 at once | `--frame-rate`, `--frame-burst` |",
		"| frames of an address | 2,000/s, 8,000 at once | `--address-frame-rate`, `--address-frame-burst` |",
		"| new connections of an address, of a user | 20/s, 100 at once | `--handshake-rate`, `--handshake-burst` |",
		"| connections | 20,000, 32 of a user | `--max-connections`, `--connections-per-user` |",
	} {
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/gateway.md does not say: %s", row)
		}
	}
}

func size(n int) string {
	if n == 1<<20 {
		return "1 MiB"
	}
	if n == 64<<10 {
		return "64 KiB"
	}
	return "something else"
}

// A user with an IPv6 address has 2^64 of them.
func TestAddressesOfOneNetworkShareItsLimits(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:1234": "192.0.2.7", "[::ffff:192.0.2.7]:1234": "192.0.2.7", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::/64",
		"[2001:db8:1:2::9]:1": "2001:db8:1:2::/64", "[fe80::1%eth0]:1": "fe80::/64", "a pipe": "a pipe",
	} {
		if got := limit.Network(remote); got != want {
			t.Errorf("%s counts as %s, want %s", remote, got, want)
		}
	}
}
