package cached

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestVectors: readers in all languages give the same answers.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../cache/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	type pair struct {
		Field, JSON string
		Hash        map[string]string
	}
	var list []struct {
		Name            string
		Now             int64
		RedisKeys       string `json:"redis_keys"`
		ThreadListing   string `json:"thread_listing"`
		ChannelsUpdated bool   `json:"channels_updated"`
		Inbox           []pair
		InboxThreads    []pair `json:"inbox_threads"`
		ChannelLatest   []pair `json:"channel_latest"`
		Answer          any
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) < 10 {
		t.Fatalf("only %d vectors", len(list))
	}
	for _, v := range list {
		r := raw{
			epoch: "5:json:" + v.RedisKeys + "/e", inbox: map[string]string{}, threads: map[string]string{},
			updated: v.ChannelsUpdated, always: v.ThreadListing == "always",
		}
		for _, p := range v.Inbox {
			r.inbox[p.Field] = p.JSON
		}
		for _, p := range v.InboxThreads {
			r.threads[p.Field] = p.JSON
		}
		s, err := newSnapshot(r, time.UnixMilli(v.Now).UTC())
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		records := map[string]map[string]string{}
		for _, p := range v.ChannelLatest {
			records[p.Field] = p.Hash
		}
		view, err := s.view(records)
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		for _, d := range differences("", plain(t, view), v.Answer) {
			t.Errorf("%s: %s", v.Name, d)
		}
	}
}

func plain(t *testing.T, v any) (out any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// differences compares field by field. A field that want lacks must be zero in got, and an empty
// list may be missing.
func differences(at string, got, want any) (list []string) {
	if w, ok := want.(map[string]any); ok {
		g, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: %v, want %v", at, got, want)}
		}
		for name, value := range w {
			if name == "pos" && strings.HasSuffix(at, ".filed") {
				continue // internal to the cache
			}
			list = append(list, differences(at+"."+name, g[name], value)...)
		}
		for name, value := range g {
			if _, ok := w[name]; !ok && !nothing(value) && name != "following" { // always true for a listed thread
				list = append(list, fmt.Sprintf("%s.%s: %v, want none", at, name, value))
			}
		}
		return list
	}
	if w, ok := want.([]any); ok {
		g, _ := got.([]any)
		if len(g) != len(w) {
			return []string{fmt.Sprintf("%s: %v, want %v", at, got, want)}
		}
		for i := range w {
			list = append(list, differences(fmt.Sprintf("%s[%d]", at, i), g[i], w[i])...)
		}
		return list
	}
	a, isTime := timeText(got)
	b, both := timeText(want)
	if reflect.DeepEqual(got, want) || isTime && both && a.Equal(b) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %v, want %v", at, got, want)}
}

func timeText(v any) (time.Time, bool) {
	text, _ := v.(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	return at, err == nil
}

func nothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func TestAMissIsNoZero(t *testing.T) {
	for _, epoch := range []string{"", "3/x", "5:packed:inbox/x", "6:json:inbox/x"} {
		if _, err := familiesOf(epoch); !errors.Is(err, ErrMiss) {
			t.Errorf("epoch %q: %v", epoch, err)
		}
	}
	if _, err := newSnapshot(raw{epoch: "4/x"}, time.Now()); !errors.Is(err, ErrMiss) {
		t.Errorf("an unknown user: %v", err)
	}
	if _, err := newSnapshot(raw{epoch: "4/x", inbox: map[string]string{"c": "\x01\x00"}}, time.Now()); !errors.Is(err, ErrMiss) {
		t.Errorf("packed values: %v", err)
	}
	if got := escape("a:b%"); got != "a%3Ab%25" {
		t.Errorf("escaped: %s", got)
	}
}
