package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
)

// lettersOf returns a page beside a broker with n dead letters in 3 partitions. They are a second
// apart and alternate between two reasons. This build would accept those of the reason
// wrong_partition.
func lettersOf(t *testing.T, n int) (*UI, *kgo.Client) {
	t.Helper()
	u, _ := page(t)
	u.cfg.Kafka = config.Kafka{Brokers: testkit.FakeKafka(t).ListenAddrs(), Options: testkit.FastClientOpts()}
	u.cfg.Topics = processor.Topics{Inputs: events.InputTopics, DeadLetters: events.TopicDeadLetters}
	cl, err := kgo.NewClient(append(u.cfg.Kafka.ClientOptions(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	if _, err := kadm.NewClient(cl).CreateTopics(t.Context(), 3, 1, nil, events.TopicDeadLetters, events.TopicMessages); err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	var list []*kgo.Record
	for i := range n {
		reason, value := "undecodable", "{no event"
		if i%2 == 1 {
			reason, value = "wrong_partition", fmt.Sprintf(`{"channel_id":"general","message_posted":{"message_id":"m%d","sender_id":"bob"}}`, i)
		}
		r := &kgo.Record{Topic: events.TopicDeadLetters, Partition: int32(i*7%5) % 3, Value: []byte(value), Timestamp: began.Add(time.Duration(i) * time.Second)}
		for _, h := range [][2]string{{processor.HeaderTopic, events.TopicMessages}, {processor.HeaderPartition, "0"}, {processor.HeaderOffset, fmt.Sprint(i)}, {processor.HeaderReason, reason}} {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: h[0], Value: []byte(h[1])})
		}
		list = append(list, r)
	}
	if err := cl.ProduceSync(t.Context(), list...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return u, cl
}

type letterAnswer struct {
	Letters []struct {
		From   string `json:"from"`
		Reason string `json:"reason"`
	} `json:"letters"`
	Next    string         `json:"next"`
	Total   int            `json:"total"`
	Counted int            `json:"counted"`
	Version string         `json:"version"`
	Reasons map[string]int `json:"reasons"`
}

// A search finds letters by their key, their value, the place they came from, their code and what
// is wrong, whatever the case, and pages of it have each letter once.
func TestSearchOfDeadLetters(t *testing.T) {
	const n = 170
	u, _ := lettersOf(t, n)
	for text, want := range map[string]int{"": n, "GENERAL": n / 2, `"m7"`: 1, "chat.messages/0/169": 1, "tm113": n / 2, "nowhere": 0} {
		got := map[string]bool{}
		for at := ""; ; {
			w := ask(u, http.MethodGet, "/ui/api/deadletters?q="+url.QueryEscape(text)+"&at="+at, "")
			var a letterAnswer
			if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%q: %d %s (%v)", text, w.Code, w.Body, err)
			}
			for _, l := range a.Letters {
				if got[l.From] {
					t.Errorf("%q: %s came twice", text, l.From)
				}
				got[l.From] = true
			}
			if at = a.Next; at == "" {
				break
			}
		}
		if len(got) != want {
			t.Errorf("%q finds %d letters, want %d", text, len(got), want)
		}
	}
}

func listed(t *testing.T, u *UI, reason, at string) letterAnswer {
	t.Helper()
	w := ask(u, http.MethodGet, "/ui/api/deadletters?reason="+reason+"&at="+at, "")
	var a letterAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s (%v)", w.Code, w.Body, err)
	}
	return a
}

// Together, all pages have each letter once, newest first, over all partitions. The same holds for
// the pages of one reason.
func TestPagesOfDeadLetters(t *testing.T) {
	const n = 170
	u, _ := lettersOf(t, n)
	for reason, step := range map[string]int{"": 1, "wrong_partition": 2} {
		want, at := n-1, ""
		for {
			a := listed(t, u, reason, at)
			if a.Total != n || a.Counted != n || a.Reasons["undecodable"] != n/2 || a.Reasons["wrong_partition"] != n/2 {
				t.Fatalf("%+v", a)
			}
			for _, l := range a.Letters {
				if l.From != fmt.Sprintf("0/%d", want) || reason != "" && l.Reason != reason {
					t.Fatalf("%q: %+v, want that of 0/%d", reason, l, want)
				}
				want -= step
			}
			if at = a.Next; at == "" {
				break
			}
			if len(a.Letters) != letterPage {
				t.Fatalf("a page before the last has %d letters", len(a.Letters))
			}
		}
		if want >= 0 && !(step == 2 && want == -1) {
			t.Errorf("%q: the pages end before 0/%d", reason, want)
		}
	}
	for _, bad := range []string{"x", "0:x", "9:1", "0"} {
		if w := ask(u, http.MethodGet, "/ui/api/deadletters?at="+bad, ""); w.Code != http.StatusBadRequest {
			t.Errorf("at %q: %d", bad, w.Code)
		}
	}
	if a := listed(t, u, "no_such_reason", ""); len(a.Letters) != 0 || a.Next != "" {
		t.Errorf("%+v", a)
	}
}

// All letters of a reason are written again, oldest first, except one that would be refused again.
// A caller who has not seen the newest letters writes none.
func TestReplayOfAReason(t *testing.T) {
	u, cl := lettersOf(t, 40)
	post := func(body string) (int, string) {
		w := ask(u, http.MethodPost, "/ui/api/deadletters/replay", body)
		return w.Code, strings.TrimSpace(w.Body.String())
	}
	if code, message := post(`{"reason":"wrong_partition","version":"old"}`); code != http.StatusConflict || !strings.Contains(message, "have changed meanwhile") {
		t.Errorf("an old version: %d %s", code, message)
	}
	for _, bad := range []string{`{}`, `{"reason":"x","partition":1,"offset":2}`} {
		if code, _ := post(bad); code != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, code)
		}
	}
	version := listed(t, u, "", "").Version
	if code, message := post(`{"reason":"","version":"` + version + `"}`); code != http.StatusOK || message != `{"left_out":20,"more":false,"written":20}` {
		t.Fatalf("%d %s", code, message)
	}
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{events.TopicMessages: {0: kgo.NewOffset().At(0), 1: kgo.NewOffset().At(0), 2: kgo.NewOffset().At(0)}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []*kgo.Record
	for len(got) < 20 && ctx.Err() == nil {
		got = append(got, cl.PollFetches(ctx).Records()...)
	}
	for i, r := range got {
		if string(r.Key) != "general" || !strings.Contains(string(r.Value), fmt.Sprintf(`"m%d"`, 2*i+1)) {
			t.Errorf("record %d is %s: %s", i, r.Key, r.Value)
		}
	}
}
