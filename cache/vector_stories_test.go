package cache

import "github.com/tidemark/tidemark/events"

// of builds on a delta of a small channel.
func of(channel string, unread uint32, change ...func(d *events.UnreadDelta)) *events.UnreadDelta {
	d := small("u:1", channel, int64(unread), 2)
	d.Mentions, d.Latest.At = 0, t0-1000*int64(unread)
	if unread == 0 {
		d.FirstUnread = events.Ref{}
	}
	for _, f := range change {
		f(d)
	}
	return d
}

// ofLarge builds on a delta of a large channel.
func ofLarge(channel string, readPos uint32, change ...func(d *events.UnreadDelta)) *events.UnreadDelta {
	d := &events.UnreadDelta{
		UserID: []byte("u:1"), ChannelID: []byte(channel), Member: true, Large: true, Mentions: 1, ReadPos: readPos, ReadEpoch: 1, Stamp: stampOf(8, 5),
		LastRead: events.Ref{MessageID: []byte("m"), Seq: readPos},
	}
	for _, f := range change {
		f(d)
	}
	return d
}

func record2(channel string, headPos uint32, change ...func(r *events.ChannelRecord)) *events.ChannelRecord {
	r := &events.ChannelRecord{
		ChannelID: []byte(channel), HeadSeq: headPos + 2, HeadPos: headPos, MemberCount: 60, Stamp: stampOf(9, 0),
		Latest: events.Head{MessageID: []byte("m9"), Seq: headPos + 2, Pos: headPos, At: t0 + 5, SenderID: []byte("ann"), Preview: []byte("\"hi\" \\ é\n")},
	}
	for _, f := range change {
		f(r)
	}
	return r
}

// vectorStories have the cases that a reader must get right.
func vectorStories() []story {
	const day = 24 * 3600 * 1000
	every := func(n uint32) (list []uint32) {
		for i := range n {
			list = append(list, 2*i+1)
		}
		return list
	}
	level := func(l events.Level, until int64, after events.Level) func(d *events.UnreadDelta) {
		return func(d *events.UnreadDelta) {
			d.Level, d.Until, d.LevelAfter, d.Muted = l, until, after, l == events.LevelNone
		}
	}
	flag := func(d *events.UnreadDelta) { d.Flagged = true }
	mention := func(d *events.UnreadDelta) {
		d.Mentions, d.DirectMentions, d.FirstMention = 2, 1, events.Ref{MessageID: []byte("m3"), Seq: 3}
	}
	labels := func(list ...string) func(d *events.UnreadDelta) {
		return func(d *events.UnreadDelta) {
			for _, l := range list {
				d.Labels = append(d.Labels, []byte(l))
			}
		}
	}
	file := func(keep bool, pos uint32) func(d *events.UnreadDelta) {
		return func(d *events.UnreadDelta) { d.Filed = events.Filed{Is: true, Keep: keep, Pos: pos} }
	}
	none := func(d *events.UnreadDelta) { d.Latest, d.Stamp = events.Head{}, stampOf(1, 0) }
	thread := func(id string, touched int64) func(d *events.UnreadDelta) {
		return func(d *events.UnreadDelta) { d.ThreadID, d.TouchedAt = []byte(id), touched }
	}
	large := []*events.ChannelRecord{record2("big", 40, func(r *events.ChannelRecord) {
		r.Holes, r.HolesFloor = []uint32{3, 14, 15, 16, 39}, 2
		r.Alls, r.AllsFloor, r.PurgedPos = []uint32{13, 16, 20, 40}, 1, 4
	})}
	excluding := func(d *events.UnreadDelta) {
		d.Excluded, d.Mentioned = []uint32{12, 17, 18, 19, 30}, []uint32{15, 21, 22, 30}
	}
	return []story{
		{name: "zeros", deltas: []*events.UnreadDelta{of("a", 0), of("empty", 0, none)}},
		{name: "small channels, order", deltas: []*events.UnreadDelta{
			of("read", 0), of("older", 7, mention), of("newer", 3), of("same time b", 4, func(d *events.UnreadDelta) { d.Latest.At = t0 }),
			of("same time a", 5, func(d *events.UnreadDelta) { d.Latest.At = t0 }), of("flagged", 0, flag, none), of("c:%\"\\é\x7f", 1),
			of("offline", 9, func(d *events.UnreadDelta) { d.OfflineUnread, d.ReadEpoch, d.LastRead.Seq = 4, 300, 70000 }),
		}},
		{name: "ids of all forms", deltas: []*events.UnreadDelta{
			of("uuid", 1, func(d *events.UnreadDelta) { d.FirstUnread.MessageID = []byte("6f1c2a34-0000-4abc-8def-00000000ffff") }),
			of("ulid", 1, func(d *events.UnreadDelta) { d.FirstUnread.MessageID = []byte("01ARZ3NDEKTSV4RRFFQ69G5FAV") }),
			of("last ulid", 1, func(d *events.UnreadDelta) { d.FirstUnread.MessageID = []byte("7ZZZZZZZZZZZZZZZZZZZZZZZZZ") }),
			of("no ulid", 1, func(d *events.UnreadDelta) { d.FirstUnread.MessageID = []byte("01HFIRST000000000000000001") }),
			of("upper", 1, func(d *events.UnreadDelta) { d.FirstUnread.MessageID = []byte("6F1C2A34-0000-4ABC-8DEF-00000000FFFF") }),
			of("long", 1, func(d *events.UnreadDelta) {
				d.FirstUnread.MessageID = make([]byte, 255)
				for i := range d.FirstUnread.MessageID {
					d.FirstUnread.MessageID[i] = 'a' + byte(i%26)
				}
			}),
		}},
		{name: "great numbers and odd times", now: 4102444799999, deltas: []*events.UnreadDelta{
			of("full", 1<<32-1, func(d *events.UnreadDelta) {
				d.Latest.At, d.Stamp = 253402300799999, events.Stamp{FoldVersion: 2, M: 1 << 53, R: 1<<53 - 1, D: 12345678901}
			}),
			of("leap", 1, func(d *events.UnreadDelta) { d.Latest.At = 1709164800001 }), of("before 1970", 1, func(d *events.UnreadDelta) { d.Latest.At = -1 }),
			of("end of a year", 1, func(d *events.UnreadDelta) { d.Latest.At = 1767225599999 }),
		}},
		{name: "levels", deltas: []*events.UnreadDelta{
			of("muted", 5, mention, level(events.LevelNone, 0, 0)), of("mentions", 6, mention, level(events.LevelMentions, 0, 0)),
			of("mentions flagged", 6, flag, level(events.LevelMentions, 0, 0)), of("muted flagged", 6, flag, level(events.LevelNone, 0, 0)),
			of("ignores", 6, func(d *events.UnreadDelta) { d.IgnoreAll, d.Line = true, events.Ref{MessageID: []byte("m2")} }),
		}},
		{name: "levels until, before", now: t0 + day - 1, deltas: untilDeltas(level)},
		{name: "levels until, at", now: t0 + day, deltas: untilDeltas(level)},
		{name: "large", deltas: []*events.UnreadDelta{ofLarge("big", 10, excluding)}, channels: large},
		{name: "large, ignores @all", deltas: []*events.UnreadDelta{ofLarge("big", 10, excluding, func(d *events.UnreadDelta) { d.IgnoreAll = true })}, channels: large},
		{name: "large, read to the end", deltas: []*events.UnreadDelta{ofLarge("big", 40)}, channels: large},
		{name: "large, not known", deltas: []*events.UnreadDelta{
			ofLarge("no record", 10), ofLarge("old", 10), ofLarge("asks", 10, func(d *events.UnreadDelta) { d.Ask = true }),
			ofLarge("cut", 0, func(d *events.UnreadDelta) { d.Excluded = every(1000) }), ofLarge("muted", 10, level(events.LevelNone, 0, 0)), of("other", 3),
		}, channels: []*events.ChannelRecord{
			record2("old", 40, func(r *events.ChannelRecord) { r.HolesFloor = 11 }), record2("asks", 40), record2("cut", 4000),
		}},
		{name: "large, long lists", deltas: []*events.UnreadDelta{ofLarge("big", 0, func(d *events.UnreadDelta) { d.Excluded, d.Mentioned = every(999), every(500) })},
			channels: []*events.ChannelRecord{record2("big", 1999, func(r *events.ChannelRecord) { r.Holes = []uint32{2, 3, 4, 5, 6, 1999}; r.Alls = []uint32{7, 8, 1998} })}},
		{name: "filed", deltas: []*events.UnreadDelta{
			of("keep", 5, mention, file(true, 0)), of("until news", 5, mention, file(false, 40)), of("news came", 5, file(false, 39)), of("no record", 5, file(false, 9)),
			ofLarge("big", 10, file(false, 40)), ofLarge("big asks", 10, file(false, 40), func(d *events.UnreadDelta) { d.Ask = true }), of("keep flagged", 0, flag, file(true, 0)),
		}, channels: []*events.ChannelRecord{record2("until news", 40), record2("news came", 40), record2("big", 40), record2("big asks", 40)}},
		{name: "labels and channels archived for everybody", updated: true, deltas: []*events.UnreadDelta{
			of("own", 5, mention, labels("b", "z")), of("channel's", 2), of("both", 3, labels("a", "c")), of("archived", 4, mention), of("without a record", 1, flag),
			ofLarge("big", 10, labels("z")),
		}, channels: []*events.ChannelRecord{
			record2("own", 5), record2("channel's", 5, func(r *events.ChannelRecord) { r.Labels = [][]byte{[]byte("a"), []byte("é\"")} }),
			record2("both", 5, func(r *events.ChannelRecord) { r.Labels = [][]byte{[]byte("b"), []byte("c")} }),
			record2("archived", 5, func(r *events.ChannelRecord) { r.Archived = true }), record2("big", 12, func(r *events.ChannelRecord) { r.Labels = [][]byte{[]byte("a")} }),
		}},
		{name: "threads", deltas: []*events.UnreadDelta{
			of("a", 1, labels("x")), of("muted", 1, level(events.LevelNone, 0, 0)), of("mentions", 1, level(events.LevelMentions, t0+1, events.LevelAll)), of("kept", 2, file(true, 0)),
			of("a", 4, mention, thread("t1", t0)), of("a", 0, thread("t2", t0-day)), of("a", 2, thread("month", t0-30*day)), of("a", 2, thread("old", t0-31*day)),
			of("muted", 2, thread("t", t0)), of("mentions", 3, mention, thread("t", t0)), of("kept", 3, thread("t", t0)), of("left", 3, thread("t", t0)),
			of("a", 1, none, thread("no reply", t0)),
		}},
		{name: "threads of any age", listing: listedAlways, deltas: []*events.UnreadDelta{of("a", 1), of("a", 2, thread("old", t0-400*day)), of("a", 0, none, thread("untouched", 0))}},
		{name: "without threads", keys: "inbox,channels", deltas: []*events.UnreadDelta{of("a", 1), of("a", 2, thread("t", t0))}},
		{name: "without channels", keys: "inbox,threads", deltas: []*events.UnreadDelta{
			of("a", 1), ofLarge("big", 10), of("keep", 5, file(true, 0)), of("until news", 5, file(false, 40)), of("a", 2, thread("t", t0))}},
		{name: "without channels of which some have labels", keys: "inbox", updated: true, deltas: []*events.UnreadDelta{of("a", 1), of("b", 0, labels("x"))}},
	}
}

func untilDeltas(level func(l events.Level, until int64, after events.Level) func(d *events.UnreadDelta)) []*events.UnreadDelta {
	const until = t0 + 24*3600*1000
	return []*events.UnreadDelta{
		of("muted", 5, level(events.LevelNone, until, events.LevelAll)), of("muted, then mentions", 5, level(events.LevelNone, until, events.LevelMentions)),
		of("all, then muted", 5, level(events.LevelAll, until, events.LevelNone)), of("mentions, then all", 5, level(events.LevelMentions, until, events.LevelAll)),
	}
}
