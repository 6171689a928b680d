package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/traffic"
)

// cutPatience bounds the wait for a cut. A partition that is busy is cut every 10 s.
const cutPatience = time.Minute

// cutReceipts measures the receipts of the newest message in the large channel while a read of each
// of its members is cut. It asks for as long as the load lasts, in which every partition is cut.
func (a *asked) cutReceipts(ctx context.Context) ([]gauge.Result, error) {
	a.s.env.report("GetReceipts in a channel of %d members beside the cut of a read of each", a.crowd)
	var all []proto.Message
	for i := range a.crowd {
		all = append(all, traffic.Read(crowdChannel, fmt.Sprintf("crowd-%d", i), traffic.ReadSeq(uint32(a.messages))))
	}
	newest := fmt.Sprintf("m%d", a.messages)
	a.holds.reset() // a part of the reads may be cut before the others are written
	if _, err := a.write(ctx, all...); err != nil {
		return nil, err
	}
	var took []time.Duration
	cuts := func() int { return int(a.holds.of("cut").wall.Read().N) }
	applied := func() int { return int(a.holds.of("apply").wall.Read().N) }
	before, start := applied(), time.Now()
	for len(took) < a.busy.calls || applied() == before || time.Since(start) < a.lasts {
		began := time.Now()
		if err := a.receiptsOf(ctx, newest, 50); err != nil {
			return nil, err
		}
		if took = append(took, time.Since(began)); began.Sub(start) > a.lasts+cutPatience {
			return nil, errors.New("GetReceipts: the store was not cut within a minute")
		}
	}
	p50, p99, largest := gauge.Quantiles(took)
	cut := a.holds.of("cut").wall.Read()
	return []gauge.Result{{
		Name:  fmt.Sprintf("GetReceipts, %d members, beside the cut of a read of each: the newest message", a.crowd),
		Goals: []gauge.Goal{gauge.AtMost("ms, p99", p99, 20)},
		Note: fmt.Sprintf("p50 %.2f ms, largest %.1f ms of %d calls; the lock was held for cuts %d times, for at most %.2f ms",
			p50, largest, len(took), cuts(), cut.Largest),
	}}, nil
}
