package everyone

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
)

// scripts are random scripts with all of DESIGN §4.7. They run at the same time and share their
// users. Each has channels of its own, and begins ten seconds ago.
type scripts struct {
	logs  []*script.Log
	users map[string]bool
}

// drawScripts draws n scripts.
func drawScripts(t *testing.T, n int, draw func(*rapid.T) *random.Case) *scripts {
	t.Helper()
	s := &scripts{users: map[string]bool{}}
	random.Scripts(t, n, draw, func(_ *rapid.T, c *random.Case) {
		m := model.New(c.Settings)
		for in := range c.Log {
			for i := range c.Log[in] {
				c.Log[in][i].AddTo(m)
			}
		}
		for i, u := range m.Users() {
			if i < 5 {
				s.users[u] = true
			}
		}
		s.logs = append(s.logs, moved(&c.Log, fmt.Sprint("-", len(s.logs)), time.Now().Add(-10*time.Second).UnixMilli()-script.Start))
	})
	return s
}

// moved returns a log with other names of channels, at another time. It leaves out time targets
// that the channel's messages never pass, because readers of large channels get no delta of such a
// target until it closes.
func moved(l *script.Log, suffix string, by int64) *script.Log {
	out := new(script.Log)
	newest := map[string]int64{}
	rename := func(id []byte) []byte { return append(append([]byte{}, id...), suffix...) }
	for in := range l {
		for _, r := range l[in] {
			switch {
			case r.Message != nil:
				m := *r.Message
				newest[string(m.ChannelID)] = max(newest[string(m.ChannelID)], m.OccurredAt)
				m.ChannelID, m.OccurredAt = rename(m.ChannelID), m.OccurredAt+by
				if m.TargetTime != 0 {
					m.TargetTime += by
				}
				r.Message = &m
			case r.Read != nil:
				e := *r.Read
				if e.Target == events.TargetTime && e.TargetTime >= newest[string(e.ChannelID)] {
					continue
				}
				e.ChannelID, e.OccurredAt = rename(e.ChannelID), e.OccurredAt+by
				if e.TargetTime != 0 {
					e.TargetTime += by
				}
				if e.Until != 0 {
					e.Until += by
				}
				r.Read = &e
			default:
				d := *r.Delivery
				d.ChannelID, d.OccurredAt = rename(d.ChannelID), d.OccurredAt+by
				r.Delivery = &d
			}
			r.Timestamp += by
			out[in] = append(out[in], r)
		}
	}
	return out
}

// records returns the records of all scripts in the order of their times. The records of one script
// in one topic keep their order.
func (s *scripts) records(t *testing.T, topics func(events.Input) string) (list []*kgo.Record) {
	t.Helper()
	type place struct {
		log *script.Log
		at  [events.NumInputs]int
	}
	var places []*place
	for _, l := range s.logs {
		places = append(places, &place{log: l})
	}
	for {
		var next *place
		of := events.Input(0)
		for _, p := range places {
			for in := range p.log {
				if i := p.at[in]; i < len(p.log[in]) && (next == nil || p.log[in][i].Timestamp < next.log[of][next.at[of]].Timestamp) {
					next, of = p, events.Input(in) //nolint:gosec // there are three
				}
			}
		}
		if next == nil {
			return list
		}
		r := &next.log[of][next.at[of]]
		next.at[of]++
		value, err := r.Value()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, &kgo.Record{Topic: topics(of), Key: r.Key(), Value: value, Timestamp: time.UnixMilli(r.Timestamp)})
	}
}
