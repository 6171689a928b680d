package projections

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/rules"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// drainRow emits the delta of one pair. Unless changed is true, it skips a delta that would equal
// the last one.
func (p *Partition) drainRow(d *Deltas, ref uint32, c *state.Channel, r *state.Row, changed bool) {
	if r.Flags&state.RowThread != 0 {
		p.drainThread(d, c, r, p.rules.Threads.At(p.rules.FollowOf(r).Thread).Flags&state.ThreadReplied != 0)
		return
	}
	if x := p.rules.ExtraOfPair(r); x != nil && len(x.Unsettled)+len(x.Floors) > 0 || !changed {
		sig := p.rules.Signature(c, r)
		if x != nil {
			if !changed && x.LastSeen == sig {
				return
			}
			if x.LastSeen = sig; c.Flags&state.ChannelLarge != 0 && x.OpenInTime() {
				x.LastSeen = state.SeenUnknown // publish again when the target closes
			}
		}
	}
	if d == nil {
		return
	}
	s := p.rules.ScopeOf(c, r)
	m := p.beginDelta(c, r, r, &s)
	m.Member, m.Muted, m.Large = r.Flags&state.RowMember != 0, r.Flags&state.RowMuted != 0, c.Flags&state.ChannelLarge != 0
	if m.Muted {
		m.Level = events.LevelNone
	}
	if settings := p.rules.ExtraSettings(r); settings != nil {
		m.Level, m.LevelAfter, m.Until, m.IgnoreAll = settings.Level(), settings.After(), settings.Until, settings.IgnoreAll
		m.Flagged = p.rules.Flagged(c, r, settings)
		m.Filed = p.rules.Filed(c, r, settings)
		m.Line, m.Labels = events.Ref{MessageID: []byte(settings.Line.ID), Seq: settings.Line.Seq}, textsOf(settings.Labels)
	}
	if m.Member {
		n := p.rules.CountsOf(c, r, &s)
		m.Mentions, m.DirectMentions, m.OfflineUnread = n.Mentions, n.Direct, p.rules.OfflineUnread(c, r, &s)
		if !m.Large {
			p.setUnread(m, c, r, &n)
			m.Latest = p.latestBytes(c)
		}
	}
	if m.Large && m.Member {
		above := max(s.Pointer, r.Baseline)
		m.ReadPos = p.rules.PosAt(c, above)
		m.Excluded = p.rules.ExcludedOf(c, &s, above)
		m.Mentioned = p.rules.MentionedOf(c, r, above)
		m.Ask = p.rules.AskOf(c, r, &s, above)
	}
	p.keepUnread(d, m, p.rules.Users.At(r.User).Murmur)
}

// beginDelta starts the delta of a scope: user, channel, stamp, the user's pointer, and the device
// that moved it. pair is the user's row in the channel.
func (p *Partition) beginDelta(c *state.Channel, r, pair *state.Row, s *rules.Scope) *events.UnreadDelta {
	p.keepOwn(r, s)
	m := &p.out
	*m = events.UnreadDelta{
		UserID: p.rules.UserID(r.User), ChannelID: p.rules.Blobs.Get(c.ID), ReadEpoch: p.rules.RareOf(r).Marks + 1, Stamp: p.rules.StampOf(c, pair),
	}
	if s.Pointer > 0 {
		p.outRead = append(p.outRead[:0], p.idBytes(c, r, state.ShownRead, s.Pointer)...) // the next idBytes may overwrite it
		m.LastRead = events.Ref{MessageID: p.outRead, Seq: s.Pointer}
		m.LastReadAt = s.At
	}
	if o := p.rules.Listed(r); o != nil {
		m.InstanceID = p.rules.Origins[o.From:o.To]
	}
	return m
}

// setUnread sets the unread count, the first unread message and the first mention.
func (p *Partition) setUnread(m *events.UnreadDelta, c *state.Channel, r *state.Row, n *rules.Counts) {
	m.Unread = n.Unread
	if n.First > 0 {
		m.FirstUnread = events.Ref{MessageID: p.idBytes(c, r, state.ShownFirst, n.First), Seq: n.First}
	}
	m.FirstMention = p.firstMention(c, r, n)
}

// keepOwn keeps a user's own posts above the pointer in memory once there are many. Otherwise each
// delta would read all of them from the log: after a mark far back, or where sending does not read.
func (p *Partition) keepOwn(r *state.Row, s *rules.Scope) {
	const many = 32
	if len(s.Own) < many {
		return
	}
	if x := p.rules.EnsurePairExtra(r); !x.OwnKept || x.OwnFrom > s.Pointer {
		x.Own, x.OwnFrom, x.OwnKept = append([]uint32(nil), s.Own...), s.Pointer, true
	}
}

// keepUnread appends a record of tidemark.unread; hash is the hash of the user's id.
func (p *Partition) keepUnread(d *Deltas, m *events.UnreadDelta, hash uint32) {
	p.outBuf = events.AppendUnreadDelta(p.outBuf[:0], m)
	val := d.Keep(p.outBuf)
	p.outBuf = events.AppendUnreadKey(p.outBuf[:0], m.UserID, m.ChannelID, m.ThreadID)
	key := d.Keep(p.outBuf)
	nu, nc := len(m.UserID), len(m.ChannelID)
	d.Records = append(d.Records, OutRecord{
		Topic: OutUnread, Partition: int32(hash % uint32(p.id.Partitions)),
		Key: key, Value: val, UserID: key[:nu:nu], ChannelID: key[nu+1 : nu+1+nc : nu+1+nc],
	})
}

// drainChannel emits the channel record.
func (p *Partition) drainChannel(d *Deltas, c *state.Channel, updated bool) {
	m := &p.outChannel
	*m = events.ChannelRecord{
		ChannelID: p.rules.Blobs.Get(c.ID), Latest: p.latestBytes(c), HeadSeq: c.HeadSeq, HeadPos: c.HeadPos,
		MemberCount: c.Members, PurgedPos: p.rules.PosAt(c, c.Floor), Large: c.Flags&state.ChannelLarge != 0,
		Deleted: c.Flags&state.ChannelDeleted != 0, Stamp: events.Stamp{FoldVersion: FoldVersion, M: c.LastM},
	}
	if x := p.rules.ExtraOf(c); x != nil {
		m.Labels, m.Archived = textsOf(x.Labels), x.Archived
		m.Holes, m.HolesFloor = p.listedOf(c, &x.Deleted)
		m.Alls, m.AllsFloor = p.listedOf(c, &x.Alls)
	}
	p.outBuf = events.AppendChannelRecord(p.outBuf[:0], m)
	val := d.Keep(p.outBuf)
	key := d.Keep(m.ChannelID)
	d.Records = append(d.Records, OutRecord{Topic: OutChannels, Partition: p.id.Partition, Key: key, Value: val, ChannelID: key, Updated: updated})
}

func textsOf(list []string) (texts [][]byte) {
	for _, s := range list {
		texts = append(texts, []byte(s))
	}
	return texts
}

// listedOf returns the newest positions of a set, and the position at or below which more may
// follow.
func (p *Partition) listedOf(c *state.Channel, s *seqset.Set) ([]uint32, uint32) {
	if s.Empty() {
		return nil, 0
	}
	seqs := s.Newest(nil, 0, rules.MaxListed+1)
	floor := uint32(0)
	if len(seqs) > rules.MaxListed {
		floor = p.rules.PosAt(c, seqs[0])
		seqs = seqs[1:]
	}
	for i, q := range seqs {
		seqs[i] = p.rules.PosAt(c, q)
	}
	return seqs, floor
}

// latestBytes returns the latest message for a delta. The result borrows its bytes.
func (p *Partition) latestBytes(c *state.Channel) events.Head {
	h, known := p.outFanOut.Latest(c)
	if known {
		return h
	}
	if h = p.headBytes(c, c.Latest); c.Latest != 0 {
		h.Pos = p.rules.PosAt(c, c.Latest)
	}
	p.outFanOut.Keep(c, h)
	return h
}

// headBytes describes a message, without its Pos. For seq 0 it returns the zero Head.
func (p *Partition) headBytes(c *state.Channel, seq uint32) events.Head {
	if seq == 0 {
		return events.Head{}
	}
	e := p.rules.EntryAt(c, seq)
	h := events.Head{Seq: seq}
	h.At, _ = p.rules.Told(c, &e)
	if c.InDeltas(&e, p.rules.Settings.IndexRetention) {
		h.MessageID, h.SenderID, h.Preview = e.ID, e.Sender, e.Preview
	}
	return h
}

// firstMention names the oldest of a row's mentions. Like idBytes it remembers the id.
func (p *Partition) firstMention(c *state.Channel, r *state.Row, n *rules.Counts) events.Ref {
	seq := n.FirstMention
	switch {
	case seq == 0:
		return events.Ref{}
	case seq == n.First:
		return events.Ref{MessageID: p.idBytes(c, r, state.ShownFirst, seq), Seq: seq}
	case c.InTail(seq):
		e := p.rules.EntryAt(c, seq)
		return events.Ref{MessageID: e.ID, Seq: seq}
	}
	var memory **state.Named
	if x := p.rules.ExtraOfPair(r); x != nil {
		memory = &x.Mention
	} else {
		memory = &p.rules.ExtraOf(c).Mention // the channel's extra has the mentions of everybody
	}
	if *memory == nil {
		*memory = &state.Named{}
	}
	known := *memory
	if known.Seq != seq || c.PastRetention(p.rules.Settings.IndexRetention) {
		e := p.rules.EntryAt(c, seq)
		if !c.InDeltas(&e, p.rules.Settings.IndexRetention) {
			return events.Ref{Seq: seq}
		}
		known.Seq, known.ID = seq, append(known.ID[:0], e.ID...)
	}
	return events.Ref{MessageID: known.ID, Seq: seq}
}

// idBytes returns the id of message seq. The row remembers the last id that is in no tail, so that the
// next delta need not look it up.
func (p *Partition) idBytes(c *state.Channel, r *state.Row, which int, seq uint32) []byte {
	if c.InTail(seq) {
		return p.rules.IDInDeltas(c, seq, &p.outFanOut)
	}
	if !c.PastRetention(p.rules.Settings.IndexRetention) {
		if id, known := p.rules.ShownID(r, which, seq); known {
			return id
		}
	}
	id := p.rules.IDInDeltas(c, seq, &p.outFanOut)
	if id != nil {
		p.rules.Show(r, which, seq, id)
	}
	return id
}

// drainThreads emits the changed deltas of thread followers.
func (p *Partition) drainThreads(d *Deltas, hold *turn) {
	for _, ti := range p.rules.OutThreads {
		t := p.rules.Threads.At(ti)
		replied := t.Flags&state.ThreadReplied != 0
		t.Flags &^= state.ThreadListed | state.ThreadReplied
		c := p.rules.Channels.At(t.Channel)
		for fi := t.Follows; fi != 0; {
			f := p.rules.Follows.At(fi)
			fi = f.Next
			r := p.rules.Rows.At(f.Row)
			if r.Flags&state.RowListed == 0 { // otherwise it was drained already
				p.drainThread(d, c, r, replied)
			}
			hold.spend(1)
		}
	}
	p.rules.OutThreads = p.rules.OutThreads[:0]
}

// drainThread emits the delta of a user in a thread, unless it equals the last one. After a reply
// it always emits one, even if the reply is gone again, because a former owner may have published
// the reply. If the user does not follow the thread, all counts are zero and the delta has only the
// pointer.
func (p *Partition) drainThread(d *Deltas, c *state.Channel, r *state.Row, replied bool) {
	f := p.rules.FollowOf(r)
	p.rules.CloseFollow(c, f)
	sig := p.rules.ThreadSignature(c, r)
	if sig == f.LastSeen && !(replied && p.rules.ShownIn(c, r)) {
		return
	}
	f.LastSeen = sig
	if x := p.rules.ExtraOfPair(r); x != nil && c.Flags&state.ChannelLarge != 0 && x.OpenInTime() {
		f.LastSeen = state.SeenUnknown // publish again when the target closes
	}
	if d == nil {
		return
	}
	s := p.rules.ThreadScopeOf(c, r)
	m := p.beginDelta(c, r, s.Pair, &s.Scope)
	m.ThreadID = p.rules.Blobs.Get(s.Thread.ID)
	m.Member = s.Follows && s.Pair.Flags&state.RowMember != 0 && c.Flags&state.ChannelDeleted == 0
	if m.Member {
		n := p.rules.ThreadCounts(c, r, &s)
		m.Mentions, m.DirectMentions, m.TouchedAt = n.Mentions, n.Direct, p.rules.TouchedAt(c, &s)
		p.setUnread(m, c, r, &n)
		m.Latest = p.headBytes(c, s.Newest)
	}
	p.keepUnread(d, m, p.rules.Users.At(r.User).Murmur)
}
