// Package folded reads the input topics of an import or a bridge and folds them with the reference
// model, so that tests can compare two of them.
package folded

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// Topics returns the model of the topics with a prefix, and how often each message was posted, by
// channel and id with a space in between.
func Topics(t *testing.T, brokers []string, prefix string) (m *model.Model, posted map[string]int) {
	t.Helper()
	m, posted = model.New(projections.DefaultSettings()), map[string]int{}
	var d events.Decoder
	cl := testkit.Client(t, brokers)
	for _, in := range []events.Input{events.Messages, events.Reads} {
		topic := prefix + in.String()
		listed, err := kadm.NewClient(cl).ListCommittedOffsets(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		listed.Each(func(end kadm.ListedOffset) {
			for _, r := range read(t, brokers, topic, end.Partition, end.Offset) {
				if in == events.Messages {
					var e events.Message
					if err := d.Message(r.Value, r.Timestamp.UnixMilli(), &e); err != nil {
						t.Fatalf("%s/%d/%d: %v", topic, r.Partition, r.Offset, err)
					}
					if e.Kind == events.KindMessagePosted {
						posted[string(e.ChannelID)+" "+string(e.MessageID)]++
					}
					m.AddMessage(&e, r.Offset, r.Timestamp.UnixMilli())
				} else {
					var e events.Read
					if err := d.Read(r.Value, r.Timestamp.UnixMilli(), &e); err != nil {
						t.Fatalf("%s/%d/%d: %v", topic, r.Partition, r.Offset, err)
					}
					m.AddRead(&e, r.Offset, r.Timestamp.UnixMilli())
				}
			}
		})
	}
	return m, posted
}

// Posted returns how often each message was posted, as Topics does, without folding.
func Posted(t *testing.T, brokers []string, prefix string) map[string]int {
	t.Helper()
	posted := map[string]int{}
	topic := prefix + events.Messages.String()
	listed, err := kadm.NewClient(testkit.Client(t, brokers)).ListCommittedOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	var d events.Decoder
	listed.Each(func(end kadm.ListedOffset) {
		for _, r := range read(t, brokers, topic, end.Partition, end.Offset) {
			var e events.Message
			if err := d.Message(r.Value, r.Timestamp.UnixMilli(), &e); err == nil && e.Kind == events.KindMessagePosted {
				posted[string(e.ChannelID)+" "+string(e.MessageID)]++
			}
		}
	})
	return posted
}

// read reads a partition up to an offset.
func read(t *testing.T, brokers []string, topic string, p int32, end int64) (all []*kgo.Record) {
	t.Helper()
	if end == 0 {
		return nil
	}
	cl := testkit.Client(t, brokers, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().At(0)}}))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for next := int64(0); next < end; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%s/%d at %d of %d: %v", topic, p, next, end, err)
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			if next = r.Offset + 1; !r.Attrs.IsControl() {
				all = append(all, r)
			}
		}
	}
	return all
}

// Once fails the test if a message was written twice.
func Once(t *testing.T, posted map[string]int) {
	t.Helper()
	for id, n := range posted {
		if n != 1 {
			t.Errorf("%s was written %d times", id, n)
		}
	}
}

// Same compares the numbers of users in both models.
func Same(t *testing.T, want, got *model.Model, users, channels, roots []string) {
	t.Helper()
	for _, c := range channels {
		for _, u := range users {
			w, _ := want.View(u, c)
			g, _ := got.View(u, c)
			if g.Member != w.Member || g.Member && (g.Unread != w.Unread || g.Mentions != w.Mentions) || g.Muted != w.Muted {
				t.Errorf("%s in %s: member %v, %d unread, %d mentions, muted %v, pointer %d; in one go %v, %d, %d, %v, %d", u, c,
					g.Member, g.Unread, g.Mentions, g.Muted, g.LastRead.Seq, w.Member, w.Unread, w.Mentions, w.Muted, w.LastRead.Seq)
			}
			for _, root := range roots {
				w, _ := want.Thread(u, c, root)
				g, _ := got.Thread(u, c, root)
				if g.Following != w.Following || g.Following && (g.Unread != w.Unread || g.Mentions != w.Mentions) {
					t.Errorf("%s in the thread %s of %s: following %v, %d unread, %d mentions; in one go %v, %d, %d", u, root, c,
						g.Following, g.Unread, g.Mentions, w.Following, w.Unread, w.Mentions)
				}
			}
		}
	}
}
