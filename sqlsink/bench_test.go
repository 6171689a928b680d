package sqlsink

import (
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// BenchmarkWrite measures batches of 50,000 deltas into a real PostgreSQL, from records to the
// commit: first new rows, then their updates, one in ten of which moves a pointer.
func BenchmarkWrite(b *testing.B) {
	dsn := testkit.Postgres(b)
	for _, kind := range []string{"new", "updates"} {
		b.Run(kind, func(b *testing.B) {
			w := Begin(b, dsn)
			at := int64(0)
			batch := func(from int) (records []*kgo.Record) {
				at++
				for i := range 50_000 {
					n := from + i
					d := &events.UnreadDelta{
						UserID: []byte("user-" + strconv.Itoa(n%20_000)), ChannelID: []byte("channel-" + strconv.Itoa(n/20)), Member: true, ReadEpoch: 1,
						Unread: uint32(at), FirstUnread: events.Ref{MessageID: []byte("message-" + strconv.Itoa(n)), Seq: uint32(n)},
						LastRead: events.Ref{MessageID: []byte("message-1"), Seq: 1}, LastReadAt: t0, Stamp: events.Stamp{FoldVersion: 1, M: at, R: 1},
					}
					if n%10 == 0 {
						d.LastRead.Seq, d.Stamp.R = uint32(at), at
					}
					records = append(records, unreadOf(d))
				}
				return records
			}
			if kind == "updates" {
				for i := range 4 {
					w.Write(b, batch(i*50_000)...)
				}
			}
			b.ResetTimer()
			for i := range b.N {
				from := i * 50_000
				if kind == "updates" {
					from %= 200_000
				}
				b.StopTimer()
				records := batch(from)
				b.StartTimer()
				w.Write(b, records...)
			}
			b.ReportMetric(float64(b.N)*50_000/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
