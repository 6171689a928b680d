package paths

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/bench/gauge"
)

// echo consumes the inputs and produces a record of the same size for each: the minimum cost of a
// consumer with outputs.
func (s *stage) echo(ctx context.Context) (gauge.Result, error) {
	ends, err := s.ends(ctx, s.inputs())
	if err != nil {
		return gauge.Result{}, err
	}
	want := int(offsets{}.missing(ends))
	return s.feed().Echo(ctx, echoName(s.mix.Name), s.topic(echoTopic), want, kgo.ConsumeTopics(s.inputs()...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
}

func echoName(mix string) string { return "echo (no Tidemark), mix " + mix }
