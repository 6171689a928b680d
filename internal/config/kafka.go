package config

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
)

// Kafka configures connections to the brokers. It is the only place that turns settings of a
// connection (TLS, SASL) into options of the client.
type Kafka struct {
	Brokers []string // host:port of the first brokers to contact
	// Options are added to the options of every client.
	Options []kgo.Opt
}

// ClientOptions returns the options of every client of this cluster: its addresses and the login.
func (k Kafka) ClientOptions() []kgo.Opt {
	return append([]kgo.Opt{
		kgo.SeedBrokers(k.Brokers...),
		kgo.ClientID("tidemark"),
	}, k.Options...)
}

// Client connects to the cluster and makes sure that a broker answers within timeout, so that a
// wrong address is an error at once and not a silent retry.
func (k Kafka) Client(ctx context.Context, timeout time.Duration, opts ...kgo.Opt) (*kgo.Client, error) {
	if len(k.Brokers) == 0 {
		return nil, errors.New("no broker is named: --brokers takes a list of host:port")
	}
	cl, err := kgo.NewClient(append(k.ClientOptions(), opts...)...)
	if err != nil {
		return nil, fmt.Errorf("Kafka client for %s: %w", strings.Join(k.Brokers, ","), err)
	}
	if err := answers(ctx, cl, timeout); err != nil {
		cl.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("no Kafka broker answers at %s (%w): start one (`tidemark dev` includes one), or name another with --brokers",
			strings.Join(k.Brokers, ","), err)
	}
	return cl, nil
}

// answers returns when a broker has answered. It does not rely on Ping's context, because Ping may
// wait longer for a connection.
func answers(ctx context.Context, cl *kgo.Client, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %s", timeout))
	defer cancel()
	answer := make(chan error, 1)
	guard.Go("asking a broker", func(e *guard.Error) { answer <- e }, func() { answer <- cl.Ping(ctx) })
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
