package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cmd/internal/verbs/deadletters"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
)

// letterAged is a dead letter of chat.messages whose record is so old.
func letterAged(reason events.Reason, value string, age time.Duration) *kgo.Record {
	r := &kgo.Record{Topic: events.TopicDeadLetters, Key: []byte("elsewhere"), Value: []byte(value)}
	for key, v := range map[string]string{
		processor.HeaderTopic: events.TopicMessages, processor.HeaderPartition: "0", processor.HeaderOffset: "7",
		processor.HeaderReason: string(reason), processor.HeaderTimestamp: strconv.FormatInt(time.Now().Add(-age).UnixMilli(), 10),
	} {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: key, Value: []byte(v)})
	}
	return r
}

// Letters of any age are written, with their own timestamps, and each reason is counted.
func TestReplayWritesOldLetters(t *testing.T) {
	own(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env, 2)
		const day = 24 * time.Hour
		for i, age := range []time.Duration{time.Second, 13 * time.Minute, day, 90 * day} {
			produce(t, s.broker, letterAged(events.ReasonWrongPartition, fmt.Sprintf(
				`{"channel_id":"general","message_posted":{"message_id":"m%d","sender_id":"bob"}}`, i), age))
		}
		produce(t, s.broker, letterAged(events.ReasonUndecodable, `{"channel_id":7}`, 90*day))

		r := tidemark(t, "", "deadletters", "replay", "--brokers", s.broker, "--json")
		var n deadletters.ReplayCounts
		want := deadletters.ReplayCounts{Read: 5, Replayed: 4, Bad: 1, Reasons: map[string]deadletters.ReplayTally{
			"wrong_partition": {Written: 4}, "undecodable": {LeftOut: 1}}}
		if err := json.Unmarshal([]byte(r.out), &n); err != nil || r.code != exitDone || !reflect.DeepEqual(n, want) {
			t.Fatalf("replay: %+v, %v; want %+v", r, err, want)
		}
		out := ok(t, "", "inspect", "topic", events.TopicMessages, "--brokers", s.broker, "--records", "9")
		old := time.Now().Add(-90 * day).UTC().Format(time.DateOnly)
		if strings.Count(out, "message_posted") != 4 || !strings.Contains(out, old) {
			t.Errorf("want 4 messages, one of %s:\n%s", old, out)
		}
	})
}

// A letter that no broker takes is named and counted; the others are written all the same.
func TestReplayGoesOnAfterALetterThatCannotBeWritten(t *testing.T) {
	s := newSite(t, embedded(t), 2)
	posted := `{"channel_id":"general","message_posted":{"message_id":"m1","sender_id":"bob"}}`
	lost := letterAged(events.ReasonWrongPartition, posted, time.Hour)
	for i := range lost.Headers {
		if lost.Headers[i].Key == processor.HeaderTopic {
			lost.Headers[i].Value = []byte("nowhere." + events.TopicMessages)
		}
	}
	produce(t, s.broker, lost)
	produce(t, s.broker, letterAged(events.ReasonWrongPartition, posted, time.Hour))
	r := tidemark(t, "", "deadletters", "replay", "--brokers", s.broker)
	if r.code != exitFailed || !strings.Contains(r.out, "2 dead letters chosen, 1 written, 0 left out because this build would refuse them again, 1 failed") ||
		!strings.Contains(r.out, "wrong_partition        1         0       1") || !strings.Contains(r.errout, "was not written to nowhere.chat.messages") {
		t.Errorf("%+v", r)
	}
}

// kgo.RecordDeliveryTimeout counts from a record's own timestamp, so it is for those alone who
// write records without one.
func TestNoDeliveryTimeoutForRecordsWithTimestamps(t *testing.T) {
	without := map[string]bool{"emit.go": true, "erasing.go": true}
	used := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		if strings.Contains(string(code), "kgo.RecordDeliveryTimeout(") {
			used++
			if !without[filepath.Base(path)] || strings.Contains(string(code), "Timestamp:") {
				t.Errorf("%s: use the deadline of a context instead", path)
			}
		}
		return err
	})
	if err != nil || used != len(without) {
		t.Errorf("%d files use it, want %d: %v", used, len(without), err)
	}
}
