package verbs_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// newApp returns an App with empty standard input, and its two outputs.
func newApp(t *testing.T) (a *verbs.App, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return &verbs.App{Ctx: t.Context(), Name: "tidemark", Stdin: &bytes.Buffer{}, Stdout: stdout, Stderr: stderr}, stdout, stderr
}

// within returns a copy of a that runs with ctx.
func within(ctx context.Context, a *verbs.App, stdin io.Reader) *verbs.App {
	b := *a
	b.Ctx, b.Stdin = ctx, stdin
	return &b
}

// brokers starts an embedded broker with a topic of this many partitions.
func brokers(t *testing.T, topic string, partitions int32) (verbs.BrokersFlags, *kgo.Client) {
	t.Helper()
	f := verbs.BrokersFlags{Brokers: testkit.FakeKafka(t).ListenAddrs()}
	cl, err := kgo.NewClient(append(testkit.FastClientOpts(), kgo.SeedBrokers(f.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), partitions, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	return f, cl
}
