package checker

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// DeadLetter is a record of the dead letters with its parsed headers.
type DeadLetter struct {
	*kgo.Record
	Source    string // topic/partition/offset of the bad record
	Reason    string
	Detail    string
	Timestamp string // of the bad record, in Unix milliseconds
}

// DeadLetters requires at least one dead letter for each bad record of the log, each a faithful
// copy with the right headers, and none for a good record. excused reports the reasons that only a
// fold finds, because the model does not refuse those records. It may be nil.
func DeadLetters(l *Log, letters []DeadLetter, excused func(reason events.Reason) bool) *Findings {
	f := &Findings{What: "dead letters against the bad records"}
	bad := map[string]*BadRecord{}
	for i, b := range l.Bad {
		bad[events.RecordID{Topic: b.Topic, Partition: b.Partition, Offset: b.Offset}.String()] = &l.Bad[i]
	}
	found := map[string]bool{}
	for _, r := range letters {
		at := fmt.Sprintf("dead letter %d/%d", r.Partition, r.Offset)
		b := bad[r.Source]
		if b == nil {
			if excused == nil || !excused(events.Reason(r.Reason)) {
				f.Add("%s: of %s, which is no bad record; headers %v", at, r.Source, r.Headers)
			}
			continue
		}
		found[r.Source] = true
		if r.Reason != string(b.Reason) {
			f.Add("%s: of %s has the reason %q, want %q", at, r.Source, r.Reason, b.Reason)
		}
		if r.Detail == "" {
			f.Add("%s: of %s says no detail", at, r.Source)
		}
		if want := strconv.FormatInt(b.Timestamp.UnixMilli(), 10); r.Timestamp != want {
			f.Add("%s: of %s has the timestamp %q, want %s", at, r.Source, r.Timestamp, want)
		}
		if !bytes.Equal(r.Key, b.Key) || !bytes.Equal(r.Value, b.Value) {
			f.Add("%s: of %s has key %q and value %q, want %q and %q", at, r.Source, r.Key, r.Value, b.Key, b.Value)
		}
	}
	for i := range l.Bad {
		b := &l.Bad[i]
		source := events.RecordID{Topic: b.Topic, Partition: b.Partition, Offset: b.Offset}.String()
		if !found[source] {
			f.Add("%s: no dead letter of it, reason %s, value %q", source, b.Reason, b.Value)
		}
	}
	return f
}
