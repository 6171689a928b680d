package checker

import (
	"fmt"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// Mirror is a reader of tidemark.unread, tidemark.channels and tidemark.receipts. It keeps the
// newest value of every key by the rule of DESIGN §1, and nothing else: a value never replaces one
// that dominates it. It does the work of Redis without Redis. The zero value has read nothing.
type Mirror struct {
	of       map[string]mirrored
	channels map[string]events.ChannelRecord
	viewed   map[viewer]int64 // time of the first view
}

type mirrored struct {
	view   projections.View
	thread string
}

// Apply takes a value. Values may come again, and older ones may follow newer ones.
func (m *Mirror) Apply(value []byte) error {
	var d events.UnreadDelta
	if err := events.DecodeUnreadDelta(value, &d); err != nil {
		return err
	}
	key := string(events.AppendUnreadKey(nil, d.UserID, d.ChannelID, d.ThreadID))
	if was, ok := m.of[key]; ok && was.view.Stamp.Dominates(d.Stamp) {
		return nil
	}
	if m.of == nil {
		m.of = map[string]mirrored{}
	}
	m.of[key] = mirrored{script.DeltaView(&d), string(d.ThreadID)}
	return nil
}

// Forget loses everything that was read.
func (m *Mirror) Forget() { m.of, m.channels, m.viewed = nil, nil, nil }

// Check compares every key with the log, which must be read to its end (O7). Each member has a
// value. No value is wrong, ahead of the log, or of a pair that the log does not have.
func (m *Mirror) Check(l *Log) *Findings {
	f := &Findings{What: "a reader of tidemark.unread against the model of the log"}
	for _, channel := range l.Channels() {
		of := l.Model(channel)
		for _, user := range append([]string{nobody}, l.Users...) {
			for _, thread := range append(of.Threads(channel), "") {
				key := string(events.AppendUnreadKey(nil, []byte(user), []byte(channel), []byte(thread)))
				now, ok := seen(of, user, channel, thread)
				if !ok && !of.Deleted(channel) {
					continue // the pair has nothing but reads
				}
				if !ok {
					now = unpublished(user, channel)
				}
				got, known := m.of[key]
				switch {
				case !known && now.Member:
					f.Add("%q: nothing was published, but it is\n    %s", key, script.FormatView(&now))
				case known:
					if diff := mirrorDiff(got.view, now, ok, ok && of.OpenInTime(user, channel, thread)); diff != "" {
						f.Add("%q: %s", key, diff)
					}
				}
			}
		}
	}
	return f
}

func mirrorDiff(got, now projections.View, known, open bool) string {
	if known && !now.Stamp.Dominates(got.Stamp) {
		return fmt.Sprintf("the stamp %s is ahead of the log, which ends at %s", script.FormatStamp(got.Stamp), script.FormatStamp(now.Stamp))
	}
	if open {
		// An open time target makes a delta when it closes, not one for each message that it
		// reaches.
		if now.Large || !now.Member {
			return ""
		}
		got.LastRead, got.LastReadAt = now.LastRead, now.LastReadAt
	}
	if want, message := standing(now, now), standing(got, now); want != message {
		return fmt.Sprintf("the value, stamp %s, says\n    %s\n  but it is\n    %s", script.FormatStamp(got.Stamp), message, want)
	}
	return ""
}
