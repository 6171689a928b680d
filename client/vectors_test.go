package client

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// vectors reads a file of test vectors that all clients share.
func vectors[T any](t *testing.T, name string) (v T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../clients/conformance", name)) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestStamps(t *testing.T) {
	v := vectors[struct {
		Dominates []struct {
			A, B string
			Is   bool
		}
		Malformed []string
	}](t, "stamps.json")
	for _, p := range v.Dominates {
		a, err1 := parseStamp(p.A)
		b, err2 := parseStamp(p.B)
		if err1 != nil || err2 != nil || a.dominates(b) != p.Is {
			t.Errorf("%s dominates %s: %t, %v, %v", p.A, p.B, a.dominates(b), err1, err2)
		}
	}
	for _, text := range v.Malformed {
		if s, err := parseStamp(text); err == nil {
			t.Errorf("%q is read as %v", text, s)
		}
	}
}

// The times that clients have without settings.
func TestTimes(t *testing.T) {
	v := vectors[struct {
		Quiet, Answer, Command float64
		StreamQuiet            float64 `json:"stream_quiet"`
		Wait                   struct{ Least, Most float64 }
	}](t, "times.json")
	d, err := Connect(DeviceConfig{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c, err := New(Config{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		name string
		got  time.Duration
		want float64
	}{
		{"quiet", d.cfg.QuietTimeout, v.Quiet},
		{"answer", d.cfg.AnswerTimeout, v.Answer},
		{"command", d.cfg.CommandTimeout, v.Command},
		{"stream_quiet", c.quiet, v.StreamQuiet},
		{"wait.least", d.cfg.least, v.Wait.Least},
		{"wait.most", d.cfg.most, v.Wait.Most},
	} {
		if p.got != seconds(p.want) {
			t.Errorf("%s is %s, want %g s", p.name, p.got, p.want)
		}
	}
}

func TestBackoff(t *testing.T) {
	for _, v := range vectors[[]struct {
		Name             string
		Min, Max, Random float64
		Asked, Waits     []float64
	}](t, "backoff.json") {
		b := backoff{least: seconds(v.Min), most: seconds(v.Max), random: func() float64 { return v.Random }}
		for i, asked := range v.Asked {
			if got := b.next(seconds(asked)); got != seconds(v.Waits[i]) {
				t.Errorf("%s: wait %d is %s, want %g s", v.Name, i, got, v.Waits[i])
			}
		}
	}
}

func TestTotals(t *testing.T) {
	for _, v := range vectors[[]struct {
		Name     string
		Now      int64
		Label    string
		Channels []ChannelUnread
		Threads  []ThreadUnread
		Totals   Totals
	}](t, "totals.json") {
		i := Inbox{Channels: map[string]*ChannelUnread{}, Threads: map[ThreadKey]*ThreadUnread{}}
		for n := range v.Channels {
			i.Channels[v.Channels[n].ChannelID] = &v.Channels[n]
		}
		for n := range v.Threads {
			i.Threads[ThreadKey{v.Threads[n].ChannelID, v.Threads[n].ThreadID}] = &v.Threads[n]
		}
		got := TotalsOf(v.Channels, v.Threads, time.UnixMilli(v.Now))
		if v.Label != "" {
			got = i.ByLabel(time.UnixMilli(v.Now))[v.Label]
		}
		if got != v.Totals {
			t.Errorf("%s: %+v, want %+v", v.Name, got, v.Totals)
		}
	}
}

func TestFrames(t *testing.T) {
	type known struct {
		Known             bool
		Badge             *int
		Channels, Threads map[string]int
		Sorted, Archived  []string
	}
	for _, v := range vectors[[]struct {
		Name   string
		Frames []json.RawMessage
		known
	}](t, "frames.json") {
		d := &Device{changed: make(chan struct{}), outbox: newOutbox(time.Second, 1)}
		for _, text := range v.Frames {
			if err := d.take(text); err != nil {
				t.Fatalf("%s: %v", v.Name, err)
			}
		}
		i := d.Inbox()
		got := known{Known: i.Known, Channels: map[string]int{}, Threads: map[string]int{}, Sorted: []string{}, Archived: []string{}}
		if n, known := i.Badge(); known {
			got.Badge = &n
		}
		for id, c := range i.Channels {
			got.Channels[id] = c.Unread
		}
		for key, r := range i.Threads {
			got.Threads[key.ChannelID+" "+key.ThreadID] = r.Unread
		}
		for _, c := range i.Sorted() {
			got.Sorted = append(got.Sorted, c.ChannelID)
		}
		for _, c := range i.Archived() {
			got.Archived = append(got.Archived, c.ChannelID)
		}
		if !reflect.DeepEqual(got, v.known) {
			t.Errorf("%s: %+v, want %+v", v.Name, got, v.known)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, v := range vectors[[]struct {
		Name       string
		Status     int
		Headers    map[string]string
		Body       string
		Code       string
		RetryAfter *float64 `json:"retry_after"`
		RequestID  string   `json:"request_id"`
		Again      bool
	}](t, "errors.json") {
		header := http.Header{}
		for name, value := range v.Headers {
			header.Set(name, value)
		}
		e := errorOf(v.Status, header, []byte(v.Body))
		var after time.Duration
		if v.RetryAfter != nil {
			after = time.Duration(*v.RetryAfter * float64(time.Second))
		}
		if e.Code != v.Code || e.RetryAfter != after || e.RequestID != v.RequestID || e.Temporary() != v.Again {
			t.Errorf("%s: %+v, again %t; want %+v", v.Name, e, e.Temporary(), v)
		}
	}
}
