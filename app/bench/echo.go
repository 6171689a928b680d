package bench

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

const echoTopic = "echo"

// echo consumes the inputs between two positions and produces a record of the same size for each:
// the minimum cost of a consumer with outputs. It reads withheld records too.
func (s *stage) echo(ctx context.Context, from, to map[int32]projections.Position) (gauge.Result, error) {
	at := map[string]map[int32]kgo.Offset{}
	want := 0
	for i := range events.InputTopics {
		t := map[int32]kgo.Offset{}
		for p := range to {
			t[p] = kgo.NewOffset().At(from[p][i])
			want += int(to[p][i] - from[p][i])
		}
		at[s.input(events.Input(i))] = t
	}
	return s.feed().Echo(ctx, "echo floor, mix "+s.mix.Name, s.output(echoTopic), want, kgo.ConsumePartitions(at))
}
