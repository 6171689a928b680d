package testkit

import (
	"crypto/rand"
	"encoding/hex"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// NeedsServer skips a test under -short. Whatever starts a real server calls it.
func NeedsServer(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server, which -short leaves out; run it without -short, or all with `make test`")
	}
}

// UniqueName returns prefix with a random suffix, for topics and groups on a server that tests
// share.
func UniqueName(t testing.TB, prefix string) string {
	t.Helper()
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + "-" + hex.EncodeToString(b[:])
}

// Client returns a client with FastClientOpts, which is closed with the test. Later options replace
// earlier ones.
func Client(t testing.TB, brokers []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	// Brokers learn of a topic at different times, and the default of four attempts takes only an
	// instant here.
	all := append(append([]kgo.Opt{kgo.SeedBrokers(brokers...), kgo.UnknownTopicRetries(100)}, FastClientOpts()...), opts...)
	cl, err := kgo.NewClient(all...)
	if err != nil {
		t.Fatalf("Kafka client: %v", err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// Admin returns an admin client with FastClientOpts, which is closed with the test.
func Admin(t testing.TB, brokers []string, opts ...kgo.Opt) *kadm.Client {
	t.Helper()
	return kadm.NewClient(Client(t, brokers, opts...))
}
