package reads

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway/internal/frames"
)

func fill(t *testing.T, frame string) (*eventsv1.ReadEvent, error) {
	t.Helper()
	c, err := frames.Parse([]byte(frame))
	if err != nil {
		t.Fatalf("%s: %v", frame, err)
	}
	if !Types[c.Type] {
		t.Fatalf("%s: no such type", frame)
	}
	ev := &eventsv1.ReadEvent{ChannelId: "c", UserId: "ann", OccurredAt: timestamppb.New(time.Unix(1_700_000_000, 0))}
	return ev, Fill(ev, &c, 3, 7)
}

// Each frame becomes its event. A frame whose event this version does not fold yet is refused with
// that explanation.
func TestFramesBecomeEvents(t *testing.T) {
	for frame, want := range map[string]string{
		`"mark_read","message_id":"m1","thread_id":"t","private":true`:                                  `"read_up_to":{"message_id":"m1","thread_id":"t","private":true}`,
		`"mark_read","message_id":"m1","with_threads":true`:                                             `"min_version":2,"read_up_to":{"message_id":"m1","with_threads":true}`,
		`"mark_read","seq":7,"read_epoch":3`:                                                            `"read_up_to":{"seq":7,"read_epoch":3}`,
		`"mark_read","message_id":"m1","seq":7,"read_epoch":1`:                                          `"read_up_to":{"message_id":"m1","read_epoch":1}`,
		`"mark_unread","message_id":"m1"`:                                                               `"marked_unread":{"message_id":"m1","head_seq":7}`,
		`"mark_unread","message_id":"m1","head_seq":5`:                                                  `"marked_unread":{"message_id":"m1","head_seq":5}`,
		`"messages_read","message_ids":["m1","m2"]`:                                                     `"messages_read":{"message_ids":["m1","m2"]}`,
		`"thread.follow","thread_id":"t"`:                                                               `"thread_followed":{"thread_id":"t"}`,
		`"thread.unfollow","thread_id":"t"`:                                                             `"thread_unfollowed":{"thread_id":"t"}`,
		`"channel.mute","muted":false`:                                                                  `"channel_muted":{}`,
		`"channel.notify","level":"MENTIONS"`:                                                           `"min_version":2,"notify_set":{"level":"MENTIONS"}`,
		`"channel.notify","level":"NONE","until":"2026-01-02T03:04:05.678Z","ignore_mention_all":false`: `"min_version":2,"notify_set":{"level":"NONE","until":"2026-01-02T03:04:05.678Z","ignore_mention_all":false}`,
		`"channel.flag","flagged":true`:                                                                 `"min_version":2,"flag_set":{"flagged":true,"head_seq":7}`,
		`"channel.file","archived":true,"keep":true,"head_seq":3`:                                       `"min_version":2,"channel_filed":{"archived":true,"keep":true,"head_seq":3}`,
		`"message.hide","message_ids":["m1"]`:                                                           `"min_version":2,"messages_hidden":{"message_ids":["m1"]}`,
		`"message.hide","up_to_seq":9`:                                                                  `"min_version":2,"messages_hidden":{"up_to_seq":9}`,
		`"message.viewed","message_ids":["m1"]`:                                                         `"min_version":2,"messages_viewed":{"message_ids":["m1"]}`,
		`"line.set","message_id":"m1"`:                                                                  `"min_version":2,"line_set":{"message_id":"m1"}`,
		`"line.set","seq":4`:                                                                            `"min_version":2,"line_set":{"seq":4}`,
		`"labels.set","labels":["work","home"]`:                                                         `"min_version":2,"labels_set":{"labels":["work","home"]}`,
		`"labels.set","labels":[]`:                                                                      `"min_version":2,"labels_set":{}`,
	} {
		got, err := fill(t, `{"type":`+frame+`,"channel_id":"c"}`)
		if err != nil {
			if !strings.Contains(want, "min_version") || !strings.Contains(err.Error(), "does not have it yet") {
				t.Errorf("%s: %v", frame, err)
			}
			continue
		}
		event := &eventsv1.ReadEvent{}
		if err := protojson.Unmarshal([]byte(`{"channel_id":"c","user_id":"ann","occurred_at":"2023-11-14T22:13:20Z",`+want+`}`), event); err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if !proto.Equal(got, event) {
			t.Errorf("%s: %v, want %v", frame, got, event)
		}
	}
}

func TestWhatIsWrongWithAFrame(t *testing.T) {
	for frame, want := range map[string]string{
		`"mark_read"`:   "message_id or seq is missing",
		`"mark_unread"`: "message_id is missing",
		`"mark_read","message_id":"m","thread_id":"t","with_threads":true`: "with_threads reads a channel and its threads",
		`"messages_read"`: "message_ids is empty",
		`"messages_read","message_ids":["1","2","3","4"]`:                "message_ids has 4 ids, the limit is 3",
		`"messages_read","message_ids":[""]`:                             "each has 1 to 255 bytes",
		`"thread.follow"`:                                                "thread_id is missing",
		`"channel.mute"`:                                                 "muted is missing",
		`"channel.notify"`:                                               "level is missing",
		`"channel.notify","level":"LOUD"`:                                "level: must be ALL, MENTIONS or NONE",
		`"channel.notify","level":"NONE","until":"tomorrow"`:             "until: must be a time such as",
		`"channel.notify","level":"NONE","until":"0001-01-01T00:00:00Z"`: "channel.notify: this version|until",
		`"channel.flag"`:                                                 "flagged is missing",
		`"channel.file"`:                                                 "archived is missing",
		`"message.hide"`:                                                 "message_ids is empty",
		`"message.hide","message_ids":["1","2","3","4"],"up_to_seq":4`:   "the limit is 3",
		`"message.viewed"`:                                               "message_ids is empty",
		`"line.set"`:                                                     "message_id or seq is missing",
		`"labels.set"`:                                                   "labels is missing",
		`"labels.set","labels":["` + strings.Repeat("x", 200) + `"]`:     "labels.set: this version|labels_set.labels",
		`"labels.set","labels":["a\u0007b"]`:                             "labels.set: this version|labels_set.labels",
	} {
		_, err := fill(t, `{"type":`+frame+`,"channel_id":"c"}`)
		first, second, _ := strings.Cut(want, "|")
		if err == nil || !strings.Contains(err.Error(), first) && (second == "" || !strings.Contains(err.Error(), second)) {
			t.Errorf("%s: %v, want %q", frame, err, want)
		}
	}
}
