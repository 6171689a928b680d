package chaos

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/processor"
)

// checkDead wants at least one dead letter for each bad record, each a faithful copy with its headers, and none of a
// good record.
func checkDead(tr *truth, letters []*kgo.Record) *findings {
	f := &findings{what: "dead letters against the bad records"}
	bad := map[string]*badRecord{}
	for i, b := range tr.bad {
		bad[fmt.Sprintf("%s/%d/%d", b.Topic, b.Partition, b.Offset)] = &tr.bad[i]
	}
	found := map[string]bool{}
	for _, r := range letters {
		headers := map[string]string{}
		for _, h := range r.Headers {
			headers[h.Key] = string(h.Value)
		}
		source := fmt.Sprintf("%s/%s/%s", headers[processor.HeaderTopic], headers[processor.HeaderPartition], headers[processor.HeaderOffset])
		at := fmt.Sprintf("dead letter %d/%d", r.Partition, r.Offset)
		b := bad[source]
		if b == nil {
			f.add("%s: of %s, which is no bad record; headers %v", at, source, headers)
			continue
		}
		found[source] = true
		if got := headers[processor.HeaderReason]; got != string(b.reason) {
			f.add("%s: of %s has the reason %q, want %q", at, source, got, b.reason)
		}
		if headers[processor.HeaderDetail] == "" {
			f.add("%s: of %s says no detail", at, source)
		}
		if got := headers[processor.HeaderTimestamp]; got != strconv.FormatInt(b.Timestamp.UnixMilli(), 10) {
			f.add("%s: of %s has the timestamp %q, want %d", at, source, got, b.Timestamp.UnixMilli())
		}
		if !bytes.Equal(r.Key, b.Key) || !bytes.Equal(r.Value, b.Value) {
			f.add("%s: of %s has key %q and value %q, want %q and %q", at, source, r.Key, r.Value, b.Key, b.Value)
		}
	}
	for source, b := range bad {
		if !found[source] {
			f.add("%s: no dead letter of it, reason %s, value %q", source, b.reason, b.Value)
		}
	}
	return f
}
