package ui

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/events"
)

// replayReason writes the newest letters of a reason again, oldest first, without those that this
// build would refuse. Unlike here, the number of letters is not limited in `tidemark deadletters
// replay`.
func (u *UI) replayReason(ctx context.Context, w http.ResponseWriter, ends letterEnds, reason string) {
	log, err := u.newLetterLog(ends, "")
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	var list []*kgo.Record
	var check letters.Checker
	leftOut := 0
	for x, err := range log.newest(ctx, reason) {
		if err != nil {
			refuse(w, http.StatusServiceUnavailable, err)
			return
		}
		record, err := x.ToWrite(&check, false)
		if err != nil {
			leftOut++
			continue
		}
		list = append(list, record)
	}
	slices.Reverse(list)
	if len(list) > 0 {
		if _, err := u.write(ctx, list...); err != nil {
			refuse(w, http.StatusServiceUnavailable, err)
			return
		}
	}
	reply(w, map[string]any{"written": len(list), "left_out": leftOut, "more": log.cursor() != ""})
}

// write writes records and returns their places, topic/partition/offset. If it fails, some may have
// been written; folding a record twice changes nothing.
func (u *UI) write(ctx context.Context, list ...*kgo.Record) ([]string, error) {
	cl, err := kgo.NewClient(append(u.cfg.Kafka.ClientOptions(), kgo.DisableClientMetrics(), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.ProducerBatchMaxBytes(events.MaxValueBytes+128<<10))...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var places []string
	for _, r := range cl.ProduceSync(ctx, list...) {
		if r.Err != nil {
			return nil, fmt.Errorf("%d of %d were written, one not to %s: %w", len(places), len(list), r.Record.Topic, r.Err)
		}
		places = append(places, events.RecordID{Topic: r.Record.Topic, Partition: r.Record.Partition, Offset: r.Record.Offset}.String())
	}
	return places, nil
}
