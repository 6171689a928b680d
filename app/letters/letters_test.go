package letters_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor"
)

func header(key, value string) kgo.RecordHeader {
	return kgo.RecordHeader{Key: key, Value: []byte(value)}
}

func dead(topic, value string) *kgo.Record {
	return &kgo.Record{
		Partition: 1, Offset: 7, Key: []byte("wrong"), Value: []byte(value), Timestamp: time.UnixMilli(2000),
		Headers: []kgo.RecordHeader{
			header("trace", "own"), header(processor.HeaderTopic, topic), header(processor.HeaderPartition, "3"),
			header(processor.HeaderOffset, "41"), header(processor.HeaderReason, "undecodable"),
			header(processor.HeaderDetail, "bad event: what"), header(processor.HeaderTimestamp, "1000"),
		},
	}
}

func TestALetterSaysWhereFromAndIsWrittenThereAgain(t *testing.T) {
	l := letters.Of(dead(events.TopicReads, `{"channel_id":"general","user_id":"ann","read_up_to":{"seq":1}}`))
	if l.Place() != "1/7" || l.Origin() != "chat.reads/3/41" || l.Reason != "undecodable" || l.Detail != "what" {
		t.Fatalf("%+v", l)
	}
	r, err := l.ToWrite(new(letters.Checker), false)
	if err != nil {
		t.Fatal(err)
	}
	if r.Topic != events.TopicReads || string(r.Key) != "general" || r.Timestamp.UnixMilli() != 1000 {
		t.Errorf("written to %s with key %s at %v", r.Topic, r.Key, r.Timestamp)
	}
	if len(r.Headers) != 1 || r.Headers[0].Key != "trace" {
		t.Errorf("headers %v: want the record's own, alone", r.Headers)
	}
}

func TestWhatWouldBeRefusedAgainIsNotWrittenUnlessForced(t *testing.T) {
	l := letters.Of(dead(events.TopicReads, `{"channel_id":"general"}`))
	if _, err := l.ToWrite(new(letters.Checker), false); err == nil {
		t.Fatal("a value without a kind was taken")
	}
	r, err := l.ToWrite(new(letters.Checker), true)
	if err != nil || string(r.Key) != "wrong" {
		t.Fatalf("forced: %v, %v", r, err)
	}
	l = letters.Of(dead("other", `{}`))
	if _, err := l.ToWrite(new(letters.Checker), true); err == nil {
		t.Fatal("a topic that is no input was taken")
	}
}

// A reshard creates topics with a prefix.
func TestALetterOfAPrefixedTopicIsWrittenThereAgain(t *testing.T) {
	l := letters.Of(dead("v2."+events.TopicReads, `{"channel_id":"general","user_id":"ann","read_up_to":{"seq":1}}`))
	r, err := l.ToWrite(new(letters.Checker), false)
	if err != nil || r.Topic != "v2.chat.reads" || string(r.Key) != "general" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestWhatIsNoWholeCopyIsNotWritten(t *testing.T) {
	r := dead(events.TopicReads, "")
	r.Headers = append(r.Headers, header(processor.HeaderLeftOut, "the value of 5242880 bytes"))
	l := letters.Of(r)
	if _, err := l.ToWrite(new(letters.Checker), true); err == nil || !strings.Contains(err.Error(), "5242880 bytes") ||
		!strings.Contains(err.Error(), "chat.reads/3/41") {
		t.Errorf("forced: %v", err)
	}
}
