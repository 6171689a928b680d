package projections_test

import (
	"fmt"
	"math"
	"slices"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// published is the state of a reader of the output topics: the last delta of each pair, the last
// record of each channel.
type published struct {
	channel map[string]events.ChannelRecord
	last    map[string]projections.View // by key
	stamped map[string]string           // key and stamp -> contents of the delta
	touched map[string]int64            // time of each thread, by key
	open    map[string]bool             // keys with an open time target before the last event
	event   *script.Record              // the last event
	drains  int
}

func newPublished() *published {
	return &published{channel: map[string]events.ChannelRecord{}, last: map[string]projections.View{}, stamped: map[string]string{}, touched: map[string]int64{}}
}

// before records which pairs have an open time target before an event. A pair makes a delta when
// the target closes (DESIGN §7), even if an equal delta was published for another reason.
func (d *published) before(m *model.Model, r *script.Record) {
	d.open, d.event = map[string]bool{}, r
	for _, channel := range m.Channels() {
		for _, user := range m.Users() {
			for _, thread := range append(m.Threads(channel), "") {
				d.open[key(user, channel, thread)] = m.OpenInTime(user, channel, thread)
			}
		}
	}
}

func key(user, channel, thread string) string {
	return string(events.AppendUnreadKey(nil, []byte(user), []byte(channel), []byte(thread)))
}

// mayRepeat reports whether the last event may make a delta that equals the one before: in another
// order of the topics the event may have changed more. This is so for an erasure, for a message
// that is queued after its deletion, and for the deletion of a reply. It is also so if a user
// follows a thread from an earlier message than before: explicitly, by a mention in an existing
// reply, or because the root comes after its replies.
func (d *published) mayRepeat(thread []byte) bool {
	switch r := d.event; r.Input {
	case events.Messages:
		e := r.Message
		return len(thread) > 0 && (e.Kind == events.KindMessageEdited || e.Kind == events.KindMessageDeleted || e.Kind == events.KindMessagePosted && string(e.MessageID) == string(thread))
	case events.Reads:
		switch e := r.Read; e.Kind {
		case events.KindUserErased:
			return true
		case events.KindThreadFollowed, events.KindThreadUnfollowed:
			return string(e.ThreadID) == string(thread)
		case events.KindMessagesHidden:
			return len(thread) == 0 && e.Seq > 0 && d.last[key(string(e.UserID), string(e.ChannelID), "")].Large
		case events.KindChannelFiled:
			last := d.last[key(string(e.UserID), string(e.ChannelID), "")]
			return len(thread) == 0 && last.Filed.Is && last.Filed.Pos == math.MaxUint32
		}
		return false
	default:
		return len(thread) == 0 && r.Delivery.Kind == events.KindQueued
	}
}

// drain takes what the partition emits. With each, a delta that equals the one before is an error,
// unless mayRepeat: after every event, a drain must find a change behind every delta. Three deltas
// are exempt. The farewell of a deleted channel may go to every user who did anything in it. That a
// thread is not listed may be repeated, for the reasons of mayRepeat. A user who filed a channel
// gets a delta both before the channel's record and with the fan-out.
func (d *published) drain(t rapid.TB, p *projections.Partition, m *model.Model, at string, each bool) {
	t.Helper()
	var out projections.Deltas
	if d.drains++; d.drains%2 == 0 {
		p.DrainRecords(&out)
	}
	p.Drain(&out, true)
	d.take(t, &out, m, at, each)
}

// part takes what the partition emits between two full drains: deltas of users who read, and with
// records also channel records.
func (d *published) part(t rapid.TB, p *projections.Partition, m *model.Model, at string, records bool) {
	t.Helper()
	var out projections.Deltas
	p.Drain(&out, false)
	if records {
		p.DrainRecords(&out)
	}
	d.take(t, &out, m, at, false)
	if records {
		d.checkFiled(t, m, at)
	}
}

// checkFiled checks that users who filed a channel see no news that is none, even while the fan-out
// is pending: the channel's record already has the new head then.
func (d *published) checkFiled(t rapid.TB, m *model.Model, at string) {
	t.Helper()
	for _, channel := range m.Channels() {
		record, was := d.channel[channel]
		for _, user := range m.Users() {
			now, ok := m.View(user, channel)
			last := d.last[key(user, channel, "")]
			if !was || !ok || !now.Member || now.Ask || record.Large != last.Large || !last.Filed.Is {
				continue
			}
			if is := last.Filed.Holds(record.HeadPos); is != now.StillFiled {
				t.Fatalf("%s: between two fan-outs %s is told that #%s is filed up to %d, and a head at %d: filed %t, but it is %t",
					at, user, channel, last.Filed.Pos, record.HeadPos, is, now.StillFiled)
			}
		}
	}
}

func (d *published) take(t rapid.TB, out *projections.Deltas, m *model.Model, at string, each bool) {
	t.Helper()
	recorded := map[string]bool{}
	for i := range out.Records {
		r := &out.Records[i]
		if r.Topic == projections.OutChannels {
			if recorded[string(r.Key)] {
				t.Fatalf("%s: the record of channel %q was emitted twice", at, r.Key)
			}
			recorded[string(r.Key)] = true
			var c events.ChannelRecord
			if err := events.DecodeChannelRecord(slices.Clone(r.Value), &c); err != nil {
				t.Fatalf("%s: a channel record that cannot be decoded: %v", at, err)
			}
			d.channel[string(r.Key)] = c
			continue
		}
		if r.Topic == projections.OutReceipts {
			var x events.ReceiptsRecord
			if err := events.DecodeReceiptsRecord(slices.Clone(r.Value), &x); err != nil || string(x.ChannelID) != string(r.Key) {
				t.Fatalf("%s: receipts under key %q of channel %q: %v", at, r.Key, x.ChannelID, err)
			}
			if each {
				d.receipts(t, m, &x, at)
			}
			continue
		}
		var delta events.UnreadDelta
		if err := events.DecodeUnreadDelta(r.Value, &delta); err != nil {
			t.Fatalf("%s: a delta that cannot be decoded: %v", at, err)
		}
		v := script.DeltaView(&delta)
		v.Excluded, v.Mentioned = slices.Clone(v.Excluded), slices.Clone(v.Mentioned)
		key := string(r.Key)
		before, was := d.last[key]
		if !was {
			before = unpublished(v.UserID, v.ChannelID)
		}
		_, _, thread, _ := events.SplitUnreadKey(r.Key)
		if each && !d.open[key] && !m.Deleted(v.ChannelID) && (len(thread) == 0 || v.Member) && !d.mayRepeat(thread) {
			again := v.Filed.Is && v.Stamp == before.Stamp
			if b, n := script.Standing(before, v), script.Standing(v, v); viewText(&b) == viewText(&n) && d.touched[key] == delta.TouchedAt && !again {
				t.Fatalf("%s: no change, but a delta:\n%s", at, viewText(&v))
			}
		}
		if was && !v.Stamp.Dominates(before.Stamp) {
			t.Fatalf("%s: stamp %s after %s", at, script.FormatStamp(v.Stamp), script.FormatStamp(before.Stamp))
		}
		d.last[key], d.touched[key] = v, delta.TouchedAt
		stamp := fmt.Sprintf("%q %s", key, script.FormatStamp(v.Stamp))
		message := fmt.Sprintf("%s touched at %d", viewText(&v), delta.TouchedAt)
		if old, ok := d.stamped[stamp]; ok && old != message {
			t.Fatalf("%s: two deltas have the stamp %s:\n%s\nand\n%s", at, stamp, old, message)
		}
		d.stamped[stamp] = message
	}
}

// read is a reader that applies a record: a value never replaces one that dominates it (DESIGN §1).
func (d *published) read(more *published) {
	for key, v := range more.last {
		if was, ok := d.last[key]; !ok || !was.Stamp.Dominates(v.Stamp) {
			d.last[key], d.touched[key] = v, more.touched[key]
		}
	}
	for key, r := range more.channel {
		if was, ok := d.channel[key]; !ok || !was.Stamp.Dominates(r.Stamp) {
			d.channel[key] = r
		}
	}
}

// same reports whether two readers have the same values, ignoring stamps. It compares only the
// stamps of channel records.
func (d *published) same(o *published) bool {
	text := func(v projections.View) string {
		v.Stamp = events.Stamp{}
		return viewText(&v)
	}
	for key, v := range d.last {
		if w, ok := o.last[key]; !ok || d.touched[key] != o.touched[key] || text(v) != text(w) {
			return false
		}
	}
	for key, r := range d.channel {
		if w, ok := o.channel[key]; !ok || r.Stamp != w.Stamp {
			return false
		}
	}
	return len(d.last) == len(o.last) && len(d.channel) == len(o.channel)
}

// receipts checks that each published read or delivery is true, and allowed to be published.
func (d *published) receipts(t rapid.TB, m *model.Model, x *events.ReceiptsRecord, at string) {
	t.Helper()
	for _, r := range x.Viewed {
		if !m.MayTellViewed(string(x.ChannelID), string(r.UserID), r.Seq, r.At) {
			t.Fatalf("%s: a view that must not be published of %s for message %d of %s at %s", at, r.UserID, r.Seq, x.ChannelID, script.FormatTime(r.At))
		}
	}
	for delivered, list := range map[bool][]events.Receipt{false: x.Readers, true: x.Delivered} {
		for _, r := range list {
			if r.WithThreads && !m.MayTellWithThreads(string(x.ChannelID), string(r.UserID), r.Seq, r.At) {
				t.Fatalf("%s: a read with threads of %s that nothing says, at %s", at, r.UserID, script.FormatTime(r.At))
			}
			if !m.MayTell(string(x.ChannelID), delivered, string(r.UserID), r.Seq, r.At) {
				t.Fatalf("%s: a receipt that must not be published (delivered: %t) of %s for message %d of %s at %s",
					at, delivered, r.UserID, r.Seq, x.ChannelID, script.FormatTime(r.At))
			}
		}
	}
}

// check compares the last delta of every pair with its current view, and the last record of every
// channel with the channel.
func (d *published) check(t rapid.TB, m *model.Model, at string) {
	t.Helper()
	for _, channel := range m.Channels() {
		record := d.channel[channel]
		d.checkChannel(t, m, channel, at)
		for _, user := range m.Users() {
			now, ok := m.View(user, channel)
			switch {
			case !ok && !m.Deleted(channel):
				continue // the pair has nothing but reads, whose deltas may be ahead of the channel
			case !ok:
				now = unpublished(user, channel)
			}
			last, was := d.last[key(user, channel, "")]
			if !was {
				last = unpublished(user, channel)
			}
			if m.OpenInTime(user, channel, "") {
				// In a large channel an open time target makes one delta when it closes, not one
				// for each message that it reaches.
				if now.Member && last.OfflineUnread != now.OfflineUnread {
					t.Fatalf("%s: the last delta of %s says %d offline, it is %d", at, user, last.OfflineUnread, now.OfflineUnread)
				}
				if now.Large {
					continue
				}
			}
			want, got := script.Standing(now, now), script.Standing(last, now)
			if d := model.Differences(got, want); d != "" {
				t.Fatalf("%s: the last delta of %s in #%s is wrong:\n%s", at, user, channel, d)
			}
			if now.Large && now.Member && !now.Ask {
				if unread, mentions, direct := derive(&last, &record); unread != now.Unread || mentions != now.Mentions || direct != now.DirectMentions {
					t.Fatalf("%s: %s derives %d unread, %d mentions, %d by name, in #%s from\n%s\nand\n%+v\nbut it is %d, %d and %d",
						at, user, unread, mentions, direct, channel, viewText(&last), record, now.Unread, now.Mentions, now.DirectMentions)
				}
			}
			for _, thread := range m.Threads(channel) {
				d.checkThread(t, m, user, channel, thread, at)
			}
		}
	}
}

// checkThread compares the last delta of a user in a thread with its current view.
func (d *published) checkThread(t rapid.TB, m *model.Model, user, channel, thread, at string) {
	t.Helper()
	now, touched := unpublished(user, channel), int64(0)
	if v, ok := m.Thread(user, channel, thread); ok {
		now.Member, now.LastRead, now.LastReadAt, now.ReadEpoch = v.Member && v.Following && v.LastReply.Seq > 0, v.LastRead, v.LastReadAt, v.ReadEpoch
		if now.Member {
			now.Unread, now.Mentions, now.FirstUnread, now.Latest = v.Unread, v.Mentions, v.FirstUnread, v.LastReply
			now.DirectMentions, now.FirstMention = v.DirectMentions, v.FirstMention
			touched = v.TouchedAt
		}
	}
	last, was := d.last[key(user, channel, thread)]
	if !was {
		last = unpublished(user, channel)
	}
	if c, _ := m.Channel(channel); c.Large && m.OpenInTime(user, channel, thread) {
		last.LastRead, last.LastReadAt = now.LastRead, now.LastReadAt
	} else if published := d.touched[key(user, channel, thread)]; published != touched && (now.Latest.MessageID != "" || script.BlockTime(published, touched) != touched) {
		t.Fatalf("%s: %s in thread %s of #%s was told that it was touched at %d, but it was at %d", at, user, thread, channel, published, touched)
	}
	want, got := script.Standing(now, now), script.Standing(last, now)
	if d := model.Differences(got, want); d != "" {
		t.Fatalf("%s: the last delta of %s in thread %s of #%s is wrong:\n%s", at, user, thread, channel, d)
	}
}

func (d *published) checkChannel(t rapid.TB, m *model.Model, channel, at string) {
	t.Helper()
	type facts struct {
		seq, pos, members, latest uint32
		large, deleted            bool
	}
	r, was := d.channel[channel]
	c, ok := m.Channel(channel)
	if !ok && !was {
		return // the pair has nothing but reads
	}
	want := facts{c.HeadSeq, c.HeadPos, c.MemberCount, c.Latest.Seq, c.Large, m.Deleted(channel)}
	got := facts{r.HeadSeq, r.HeadPos, r.MemberCount, r.Latest.Seq, r.Large, r.Deleted}
	if !was && c.HeadSeq == 0 && c.MemberCount == 0 {
		return // nothing happened that a channel record shows
	}
	if got != want {
		t.Fatalf("%s: the last record of #%s said %+v, but it is %+v", at, channel, got, want)
	}
}

// derive computes the counts as a reader of a large channel does (DESIGN §7). Scripts are too short
// for a list to be cut.
func derive(v *projections.View, c *events.ChannelRecord) (unread, mentions, direct uint32) {
	for pos := max(v.ReadPos, c.PurgedPos) + 1; pos <= c.HeadPos; pos++ {
		if slices.Contains(c.Holes, pos) || slices.Contains(v.Excluded, pos) {
			continue
		}
		unread++
		switch {
		case slices.Contains(v.Mentioned, pos):
			mentions++
			direct++
		case !v.IgnoreAll && slices.Contains(c.Alls, pos):
			mentions++
		}
	}
	return unread, mentions, direct
}

// unpublished returns the view of a pair without any delta.
func unpublished(user, channel string) projections.View {
	return projections.View{UserID: user, ChannelID: channel, ReadEpoch: 1}
}

func viewText(v *projections.View) string {
	if v.LastRead.Seq == 0 {
		v.LastReadAt = 0
	}
	return fmt.Sprintf("%+v", *v)
}
