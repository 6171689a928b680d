package cache

import (
	"strings"
	"time"
)

// parseOwn reads exactly what appendValue writes, without what a general JSON parser costs: an inbox may have 100,000
// channels. ok is false for anything else, also for a value that is right but has other keys or escapes.
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
	e.readPos = p.uint32()
	p.lit(`,"excluded":`)
	e.excluded = p.positions()
	p.lit(`,"mentioned":`)
	e.mentioned = p.positions()
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
	if e.Known = !e.Large; !e.Known {
		e.Mentions = 0
	}
	return e, p.ok && p.s == "" && small == !e.Large
}

// ownParser takes a value apart from its beginning. After the first surprise ok is false and nothing more means
// anything.
type ownParser struct {
	s  string
	ok bool
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

// str takes a string without escapes.
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

func (p *ownParser) positions() runs {
	set, err := parsePositions(p.str())
	p.ok = p.ok && err == nil
	return set
}

func (p *ownParser) time() time.Time {
	t, err := parseTime(p.str())
	p.ok = p.ok && err == nil
	return t
}
