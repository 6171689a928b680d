package entry

import (
	"strings"
	"time"

	"github.com/tidemark/tidemark/events"
)

// parseOwn parses exactly what AppendValue writes, at a fraction of the cost of a general JSON
// parser: an inbox may have 100,000 channels. ok is false for anything else, even for valid JSON
// with other members or with escapes.
func parseOwn(s string) (e Entry, ok bool) {
	p := ownParser{s: s, ok: true}
	p.lit(`{`)
	small := strings.HasPrefix(p.s, `"unread":`)
	if small {
		p.lit(`"unread":`)
		e.Unread = p.uint32()
		p.lit(`,`)
	}
	p.lit(`"mentions":`)
	e.Mentions = p.uint32()
	p.lit(`,"offline_unread":`)
	e.OfflineUnread = p.uint32()
	if small {
		p.lit(`,"first_unread_id":`)
		e.FirstUnreadID = p.str()
	}
	p.lit(`,"last_read_seq":`)
	e.LastReadSeq = p.uint32()
	p.lit(`,"read_pos":`)
	e.exceptions.ReadPos = p.uint32()
	p.lit(`,"excluded":`)
	e.exceptions.Excluded = p.positions()
	p.lit(`,"mentioned":`)
	e.exceptions.Mentioned = p.positions()
	if small {
		p.lit(`,"latest_seq":`)
		e.LatestSeq = p.uint32()
		p.lit(`,"latest_at":`)
		e.LatestAt = p.time()
	}
	p.lit(`,"large":`)
	e.Large = p.bool()
	p.lit(`,"muted":`)
	e.Muted = p.bool()
	p.lit(`,"read_epoch":`)
	e.ReadEpoch = p.uint32()
	p.settings(&e)
	if strings.HasPrefix(p.s, `,"touched_at":`) {
		p.lit(`,"touched_at":`)
		e.TouchedAt = p.time()
	}
	p.lit(`,"stamp":"`)
	var big [4]uint64
	for i := range big {
		if i > 0 {
			p.lit(`.`)
		}
		big[i] = p.uint()
		p.ok = p.ok && big[i] < 1<<63
	}
	p.ok = p.ok && big[0] < 1<<32
	e.Stamp.FoldVersion, e.Stamp.M, e.Stamp.R, e.Stamp.D = uint32(big[0]), int64(big[1]), int64(big[2]), int64(big[3])
	p.lit(`"}`)
	e.Known = !e.Large
	e.parsed()
	return e, p.ok && p.s == "" && small == !e.Large
}

// ownParser parses a value from its beginning. Once ok is false, results of its methods are
// meaningless.
type ownParser struct {
	s  string
	ok bool
}

// settings parses what appendSaid writes.
func (p *ownParser) settings(e *Entry) {
	if p.next(`,"direct_mentions":`) {
		e.DirectMentions = p.uint32()
	}
	e.FirstMention = p.ref(`,"first_mention":`)
	if p.next(`,"level":`) {
		e.Levels.Level = p.level()
	}
	if p.next(`,"until":`) {
		e.Levels.Until = p.time().UnixMilli()
		p.lit(`,"level_after":`)
		e.Levels.After = p.level()
	}
	e.IgnoreAll = p.next(`,"ignore_mention_all":true`)
	e.Flagged = p.next(`,"flagged":true`)
	if p.next(`,"filed":{"keep":`) {
		e.Filed.Is, e.Filed.Keep = true, p.bool()
		p.lit(`,"pos":`)
		e.Filed.Pos = p.uint32()
		p.lit(`}`)
	}
	e.Line = p.ref(`,"line":`)
	if p.next(`,"labels":[`) {
		e.OwnLabels = append(e.OwnLabels, p.str())
		for p.next(`,`) {
			e.OwnLabels = append(e.OwnLabels, p.str())
		}
		p.lit(`]`)
	}
	e.Ask = p.next(`,"ask":true`)
}

// next skips l and returns true if l comes next.
func (p *ownParser) next(l string) bool {
	rest, is := strings.CutPrefix(p.s, l)
	p.s = rest
	return is
}

// ref parses a member that names a message, if there is one.
func (p *ownParser) ref(key string) (r Ref) {
	if p.next(key) {
		p.lit(`{"message_id":`)
		r.MessageID = p.str()
		p.lit(`,"seq":`)
		r.Seq = p.uint32()
		p.lit(`}`)
	}
	return r
}

func (p *ownParser) level() events.Level {
	level, err := parseLevel(p.str())
	p.ok = p.ok && err == nil
	return level
}

func (p *ownParser) lit(l string) {
	if !strings.HasPrefix(p.s, l) {
		p.ok, p.s = false, ""
		return
	}
	p.s = p.s[len(l):]
}

func (p *ownParser) uint() uint64 {
	i, v := 0, uint64(0)
	for i < len(p.s) && p.s[i] >= '0' && p.s[i] <= '9' && i < 19 {
		v = v*10 + uint64(p.s[i]-'0')
		i++
	}
	p.ok = p.ok && i > 0
	p.s = p.s[i:]
	return v
}

func (p *ownParser) uint32() uint32 {
	v := p.uint()
	p.ok = p.ok && v < 1<<32
	return uint32(v)
}

func (p *ownParser) bool() bool {
	if strings.HasPrefix(p.s, "true") {
		p.s = p.s[4:]
		return true
	}
	p.lit("false")
	return false
}

// str parses a string without escapes.
func (p *ownParser) str() string {
	p.lit(`"`)
	i := strings.IndexByte(p.s, '"')
	if i < 0 || strings.IndexByte(p.s[:i], '\\') >= 0 {
		p.ok, p.s = false, ""
		return ""
	}
	v := p.s[:i]
	p.s = p.s[i+1:]
	return v
}

func (p *ownParser) positions() events.Positions {
	set, err := events.ParsePositions(p.str())
	p.ok = p.ok && err == nil
	return set
}

func (p *ownParser) time() time.Time {
	t, err := ParseTime(p.str())
	p.ok = p.ok && err == nil
	return t
}
