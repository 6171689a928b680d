package checker

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// published is one record of tidemark.unread.
type published struct {
	key      string
	at       string // topic/partition/offset
	producer string // process that wrote it
	written  time.Time
	thread   string // empty: the delta is about the channel
	view     projections.View
	bytes    []byte // without the hint of who caused it, which is not compared (DESIGN §7)
	value    []byte // bytes without the stamp
}

func (p *published) stamp() events.Stamp { return p.view.Stamp }

// History is everything that was published about each key, in the order of the log.
type History struct {
	Keys    []string // sorted
	Records int
	// Reopened says that a process may have lost a partition and opened it again from an older
	// store. The process may then publish older values, as another process might.
	Reopened bool

	of map[string][]published
}

// NewHistory takes the records of tidemark.unread. A record that does not decode is a finding.
func NewHistory(records []*kgo.Record, f *Findings) *History {
	h := &History{of: map[string][]published{}, Records: len(records)}
	for _, r := range records {
		at := events.RecordID{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}.String()
		var d events.UnreadDelta
		if err := events.DecodeUnreadDelta(r.Value, &d); err != nil {
			f.Add("%s: %v", at, err)
			continue
		}
		if key := events.AppendUnreadKey(nil, d.UserID, d.ChannelID, d.ThreadID); !bytes.Equal(key, r.Key) {
			f.Add("%s: the key is %q, the value says %q", at, r.Key, key)
			continue
		}
		d.InstanceID = nil
		whole := events.AppendUnreadDelta(nil, &d)
		view := script.DeltaView(&d)
		d.Stamp = events.Stamp{}
		key := string(r.Key)
		if h.of[key] == nil {
			h.Keys = append(h.Keys, key)
		}
		h.of[key] = append(h.of[key], published{
			key: key, at: at, producer: fmt.Sprintf("%d/%d", r.ProducerID, r.ProducerEpoch), written: r.Timestamp,
			thread: string(d.ThreadID), view: view, bytes: whole, value: events.AppendUnreadDelta(nil, &d),
		})
	}
	slices.Sort(h.Keys)
	return h
}

// Stamps checks that values with equal stamps are equal, whichever process wrote them. One process
// never goes back in the log, unless h.Reopened. Another process may: it publishes again what was
// not committed. again counts values that were published again with the same stamp, and back counts
// values whose stamp does not dominate that of the value before.
func (h *History) Stamps(f *Findings) (again, back int) {
	for _, key := range h.Keys {
		byStamp := map[events.Stamp]*published{}
		last := map[string]*published{} // by producer
		var before *published
		for i := range h.of[key] {
			p := &h.of[key][i]
			old := byStamp[p.stamp()]
			if old != nil {
				again++
			}
			if old != nil && !bytes.Equal(old.bytes, p.bytes) {
				f.Add("%q: two values have the stamp %s:\n    %s: %s\n    %s: %s", key, script.FormatStamp(p.stamp()),
					old.at, script.FormatView(&old.view), p.at, script.FormatView(&p.view))
			}
			byStamp[p.stamp()] = p
			if old := last[p.producer]; old != nil && !h.Reopened && !p.stamp().Dominates(old.stamp()) {
				f.Add("%q: producer %s wrote the stamp %s at %s after %s at %s", key, p.producer,
					script.FormatStamp(p.stamp()), p.at, script.FormatStamp(old.stamp()), old.at)
			}
			last[p.producer] = p
			if before != nil && !p.stamp().Dominates(before.stamp()) {
				back++
			}
			before = p
		}
	}
	return again, back
}

// Newest compares the last value of every key in the log, which compaction keeps, with the model as
// it is now, and checks that each member has one. Its stamp may be older than that of an earlier
// value. A process that opens an older store after a crash forms other batches, and publishes
// nothing for records that change nothing in their batch.
func (h *History) Newest(tr *Log, f *Findings) {
	for _, channel := range tr.Channels() {
		m := tr.Model(channel)
		for _, user := range append([]string{nobody}, tr.Users...) {
			for _, thread := range append(m.Threads(channel), "") {
				h.newestOf(m, user, channel, thread, f)
			}
		}
	}
	h.gone(tr, f)
}

func (h *History) newestOf(m *model.Model, user, channel, thread string, f *Findings) {
	key := string(events.AppendUnreadKey(nil, []byte(user), []byte(channel), []byte(thread)))
	now, ok := seen(m, user, channel, thread)
	if !ok {
		if !m.Deleted(channel) {
			return // the pair has nothing but reads
		}
		now = unpublished(user, channel)
	}
	values := h.of[key]
	if len(values) == 0 {
		if now.Member {
			f.Add("%q: nothing was published, but it is\n    %s", key, script.FormatView(&now))
		}
		return
	}
	best := &values[len(values)-1]
	if ok && !now.Stamp.Dominates(best.stamp()) {
		f.Add("%q: the stamp %s at %s is ahead of the log, which ends at %s", key, script.FormatStamp(best.stamp()),
			best.at, script.FormatStamp(now.Stamp))
	}
	got := best.view
	if ok && m.OpenInTime(user, channel, thread) {
		// An open time target makes a delta when it closes, not one for each message that it
		// reaches.
		if now.Large || !now.Member {
			return
		}
		got.LastRead, got.LastReadAt = now.LastRead, now.LastReadAt
	}
	want, message := standing(now, now), standing(got, now)
	if message != want {
		f.Add("%q: the newest value, %s, says\n    %s\n  but it is\n    %s\n  the last that was said of it:%s", key, best.at, message, want, h.story(key))
	}
}

// story describes the last values of a key in the order of the log, each with its time and
// producer. A producer of epoch 32767 is a fence.
func (h *History) story(key string) string {
	var b strings.Builder
	values := h.of[key]
	for i := range values[max(0, len(values)-12):] {
		p := &values[max(0, len(values)-12)+i]
		fmt.Fprintf(&b, "\n    %s at %s by producer %s, stamp %s: %s", p.at, p.written.Format("15:04:05.000"), p.producer,
			script.FormatStamp(p.stamp()), script.FormatView(&p.view))
	}
	return b.String()
}

// seen returns the model's view that a delta of the user must contain, in the channel or in a
// thread.
func seen(m *model.Model, user, channel, thread string) (projections.View, bool) {
	if thread == "" {
		return m.View(user, channel)
	}
	t, ok := m.Thread(user, channel, thread)
	v := unpublished(user, channel)
	v.LastRead, v.LastReadAt, v.ReadEpoch, v.Stamp = t.LastRead, t.LastReadAt, t.ReadEpoch, t.Stamp
	if v.Member = t.Member && t.Following && t.LastReply.Seq > 0; v.Member {
		v.Unread, v.Mentions, v.FirstUnread, v.Latest = t.Unread, t.Mentions, t.FirstUnread, t.LastReply
		v.DirectMentions, v.FirstMention = t.DirectMentions, t.FirstMention
	}
	return v, ok
}

// Each compares values with the model at their own stamps. A delta is a function of its stamp, so
// every delta that was ever in the log must have been right. Each takes all values that another
// process wrote after a fault, and at most `most` of the others.
func (h *History) Each(tr *Log, r *rand.Rand, most int, f *Findings) (checked int) {
	var first, others []*published
	for _, key := range h.Keys {
		values := h.of[key]
		for i := range values {
			if i > 0 && values[i].producer != values[i-1].producer {
				first = append(first, &values[i])
			} else {
				others = append(others, &values[i])
			}
		}
	}
	for _, list := range [][]*published{first, others} {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	first = first[:min(len(first), most/2)]
	others = others[:min(len(others), most-len(first))]
	for _, p := range slices.Concat(first, others) {
		user, channel := p.view.UserID, p.view.ChannelID
		m := tr.At(user, channel, p.stamp())
		then, ok := seen(m, user, channel, p.thread)
		switch {
		case !ok && !m.Deleted(channel):
			continue // the value is ahead of the channel, which has nothing but reads
		case !ok:
			then = unpublished(user, channel)
		case then.Stamp != p.stamp():
			f.Add("%q: the value at %s has the stamp %s, but the records up to there give %s", p.key, p.at,
				script.FormatStamp(p.stamp()), script.FormatStamp(then.Stamp))
			continue
		}
		checked++
		if want, message := promised(then, then), promised(p.view, then); message != want {
			f.Add("%q: the value at %s, stamp %s, says\n    %s\n  but then it was\n    %s", p.key, p.at,
				script.FormatStamp(p.stamp()), message, want)
		}
	}
	return checked
}

// unpublished returns the view of a pair that has no delta or whose channel is deleted.
func unpublished(user, channel string) projections.View {
	return projections.View{UserID: user, ChannelID: channel, ReadEpoch: 1}
}

// promised is script.Promised in words.
func promised(v, now projections.View) string {
	return fmt.Sprintf("%+v", script.Promised(v, now))
}

// standing is script.Standing in words.
func standing(v, now projections.View) string {
	return fmt.Sprintf("%+v", script.Standing(v, now))
}

// Moved reports whether the newest value of a key differs from the value before it in what it
// promises about a pair that really is as in now.
func (h *History) Moved(key string, now projections.View) bool {
	values := h.of[key]
	n := len(values)
	return n > 1 && promised(values[n-1].view, now) != promised(values[n-2].view, now)
}
