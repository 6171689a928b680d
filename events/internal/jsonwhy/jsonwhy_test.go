package jsonwhy_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/events/internal/jsonwhy"
)

// Each kind of misfit has its field, reason and place.
func TestWhy(t *testing.T) {
	for _, c := range []struct{ value, field, detail string }{
		{`[]`, "", "is an array, must be an object (line 1, column 1)"},
		{`{"channelId":`, "channel_id", "the JSON ends too early (line 1, column 14)"},
		{`{"channelId":"general"} {}`, "", "there is more after the end of the object (line 1, column 25)"},
		{`{"channelId":16}`, "channel_id", "is a number, must be a string (line 1, column 14)"},
		{"{\n \"channel_id\": true}", "channel_id", "is true or false, must be a string (line 2, column 16)"},
		{`{"channelId":"a","channel_id":"b"}`, "channel_id", "stands there twice (line 1, column 18)"},
		{`{"occurredAt":"2026-01-02 03:04:05Z"}`, "occurred_at", "no space, between date and time (line 1, column 15)"},
		{`{"minVersion":-1}`, "min_version", "must be an integer from 0 to 4294967295 (line 1, column 15)"},
		{`{"minVersion":4294967296}`, "min_version", "must be an integer from 0 to 4294967295"},
		{`{"messagePosted":{"mentions":"ann"}}`, "message_posted.mentions", "is a string, must be an array"},
		{`{"messagePosted":{"mentions":["ann",null]}}`, "message_posted.mentions[1]", "is null, must be a string"},
		{`{"messagePosted":{},"messageDeleted":{}}`, "message_deleted", "stands beside message_posted"},
		{`{"channelId":"\ud800"}`, "channel_id", "text that is not valid UTF-8"},
		{`{"unknown":` + strings.Repeat("[", jsonwhy.MaxDepth+1), "", "nested too deeply"},
		{`{"channelId":nul}`, "channel_id", "no valid JSON"},
	} {
		field, detail := jsonwhy.Why([]byte(c.value), (*eventsv1.MessageEvent)(nil).ProtoReflect().Descriptor())
		if field != c.field || !strings.Contains(detail, c.detail) {
			t.Errorf("%s:\n\t%q %q\nwant\t%q %q", c.value, field, detail, c.field, c.detail)
		}
	}
}

// Null equals a missing field, unknown fields are skipped, and the text never quotes the value.
func TestWhatIsFineAndWhatIsQuoted(t *testing.T) {
	md := (*eventsv1.MessageEvent)(nil).ProtoReflect().Descriptor()
	for _, fine := range []string{`{}`, `{"channelId":null}`, `{"new":{"a":[1,{"b":2}]},"channelId":"a"}`} {
		if field, detail := jsonwhy.Why([]byte(fine), md); field != "" || detail != "not JSON of this event" {
			t.Errorf("%s: %q %q", fine, field, detail)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`zq[a-z]{6}`).Draw(t, "secret")
		shape := rapid.SampledFrom([]string{`{"channelId":[%]}`, `{"occurredAt":%}`, `{%:1`, `{"minVersion":%}`, `{"messagePosted":{"preview":{"a":%}}}`, `{%:%,%:}`}).Draw(t, "shape")
		field, detail := jsonwhy.Why([]byte(strings.ReplaceAll(shape, "%", `"`+secret+`"`)), md)
		if strings.Contains(field+detail, secret) {
			t.Fatalf("the value stands in %q %q", field, detail)
		}
	})
}
