package cache

import (
	"fmt"
	"strconv"
	"time"
)

// listed is how many positions a list of exceptions holds at most (DESIGN §7). One that is full may have left out older
// ones, and does not say from where on.
const listed = 1000

// Channel is what channel-latest says of a channel.
type Channel struct {
	ChannelID string

	// The newest live counted message; LatestAt is the zero time if there is none, and LatestID is empty also for one
	// that has left the index.
	LatestID, LatestSender, LatestPreview string
	LatestAt                              time.Time

	HeadSeq, HeadPos uint32 // of the newest message
	PurgedPos        uint32
	MemberCount      uint32

	holes, alls           runs
	holesFloor, allsFloor uint32
}

// derive counts the unread messages and mentions of a large channel by the rule of DESIGN §7: of the positions above
// what was read or purged and up to the head, those that are neither holes nor excluded. ok is false where one of the
// lists does not reach back that far; then only the query service knows.
func (c *Channel) derive(readPos uint32, excluded, mentioned runs) (unread, mentions uint32, ok bool) {
	above := max(readPos, c.PurgedPos)
	if above >= c.HeadPos {
		return 0, 0, true
	}
	if c.holesFloor > above || c.allsFloor > above || excluded.size() >= listed || mentioned.size() >= listed {
		return 0, 0, false
	}
	not := union(c.holes, excluded)
	unread = c.HeadPos - above - not.within(above, c.HeadPos)
	mentions = union(mentioned, c.alls).withinBut(above, c.HeadPos, not)
	return unread, mentions, true
}

// parseChannel reads the hash of a channel.
func parseChannel(id string, hash map[string]string) (*Channel, error) {
	p := hashParser{key: ChannelLatestKey(id), hash: hash}
	c := &Channel{
		ChannelID:     id,
		LatestID:      p.text("latest_id"),
		LatestSender:  p.text("latest_sender"),
		LatestPreview: p.text("latest_preview"),
		LatestAt:      p.time("latest_at"),
		HeadSeq:       p.number("message_seq"),
		HeadPos:       p.number("message_pos"),
		PurgedPos:     p.number("purged_pos"),
		MemberCount:   p.number("member_count"),
		holes:         p.positions("holes"),
		holesFloor:    p.number("holes_floor"),
		alls:          p.positions("alls"),
		allsFloor:     p.number("alls_floor"),
	}
	return c, p.err
}

// hashParser reads the fields of a hash and keeps the first error.
type hashParser struct {
	key  string
	hash map[string]string
	err  error
}

func (p *hashParser) fail(field string, err error) {
	if p.err == nil {
		p.err = fmt.Errorf("redis key %q, field %s: %w", p.key, field, err)
	}
}

func (p *hashParser) text(field string) string {
	v, ok := p.hash[field]
	if !ok {
		p.fail(field, errNoField)
	}
	return v
}

func (p *hashParser) number(field string) uint32 {
	n, err := strconv.ParseUint(p.text(field), 10, 32)
	if err != nil {
		p.fail(field, err)
	}
	return uint32(n)
}

func (p *hashParser) positions(field string) runs {
	set, err := parsePositions(p.text(field))
	if err != nil {
		p.fail(field, err)
	}
	return set
}

func (p *hashParser) time(field string) time.Time {
	t, err := parseTime(p.text(field))
	if err != nil {
		p.fail(field, err)
	}
	return t
}
