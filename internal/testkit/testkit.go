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

// UniqueName is prefix with a random end, for topics and groups on a server that other tests use as well.
func UniqueName(t testing.TB, prefix string) string {
	t.Helper()
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + "-" + hex.EncodeToString(b[:])
}

// Client is a client with FastClientOpts, closed with the test. Of options given twice the later one holds.
func Client(t testing.TB, brokers []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	// One broker learns of a topic later than another, and the default of four looks are over in an instant here.
	all := append(append([]kgo.Opt{kgo.SeedBrokers(brokers...), kgo.UnknownTopicRetries(100)}, FastClientOpts()...), opts...)
	cl, err := kgo.NewClient(all...)
	if err != nil {
		t.Fatalf("Kafka client: %v", err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// Admin is an admin client with FastClientOpts, closed with the test.
func Admin(t testing.TB, brokers []string, opts ...kgo.Opt) *kadm.Client {
	t.Helper()
	return kadm.NewClient(Client(t, brokers, opts...))
}
