package product

import (
	"testing"
	"time"

	contract "github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/internal/test/chats"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
)

// longAgo returns the time at which random stories begin. No story lasts until now.
func longAgo() int64 { return time.Now().Add(-60 * 24 * time.Hour).UnixMilli() }

// modelOf returns the model of what an import writes.
func modelOf(t *testing.T, conf importer.Config, p importer.Product) (*model.Model, *importer.Summary) {
	t.Helper()
	m := model.New(projections.DefaultSettings())
	var d contract.Decoder
	var next [contract.NumInputs]int64
	conf.DryRun = true
	conf.Each = func(r importer.Record) error {
		offset := next[r.In]
		next[r.In]++
		if r.In == contract.Messages {
			var e contract.Message
			if err := d.Message(r.Value, r.Millis, &e); err != nil {
				return err
			}
			m.AddMessage(&e, offset, r.Millis)
			return nil
		}
		var e contract.Read
		if err := d.Read(r.Value, r.Millis, &e); err != nil {
			return err
		}
		m.AddRead(&e, offset, r.Millis)
		return nil
	}
	sum, err := importer.Run(t.Context(), conf, p)
	if err != nil {
		t.Fatal(err)
	}
	return m, sum
}

// same compares a user's numbers in a channel with want.
func same(t *testing.T, m *model.Model, user, channel string, want chats.Want) {
	t.Helper()
	v, _ := m.View(user, channel)
	got := chats.Want{Member: v.Member}
	if v.Member {
		got.Unread, got.Mentions = v.Unread, v.Mentions
	}
	if got != want {
		t.Errorf("%s in %s: %+v, want %+v (pointer %d)", user, channel, got, want, v.LastRead.Seq)
	}
}
