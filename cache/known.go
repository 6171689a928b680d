package cache

import "github.com/tidemark/tidemark/events"

// known is the value of one (user, channel), or of one channel, in Redis.
type known struct {
	stamp  events.Stamp
	at     int64  // last_read_at; atUnknown if it was not read back
	seq    uint32 // last_read_seq
	member bool   // in the inbox; otherwise a removal, whose stamp Redis keeps for a while
	there  bool   // false: Redis has no value, and no other field is set
}

// atUnknown stands for a time that was not read back from Redis.
const atUnknown = -1

// refuses reports whether the stamp in Redis dominates stamp: the new value is older than Redis',
// or equal to it.
func (k *known) refuses(stamp *events.Stamp) bool { return k.there && k.stamp.Dominates(*stamp) }

// moved reports whether the value now moves the read pointer in Redis.
func (k *known) moved(now *known) bool {
	switch {
	case !k.there || k.seq != now.seq:
		return true
	case now.seq == 0:
		return false
	case k.at == atUnknown:
		// Only a read can change just the pointer's time. Not every read does; the others cost one
		// needless write.
		return k.stamp.R != now.stamp.R
	}
	return k.at != now.at
}

// after returns the value in Redis once d is applied.
func after(d *events.UnreadDelta) known {
	return known{stamp: d.Stamp, seq: d.LastRead.Seq, at: d.LastReadAt, member: d.Member, there: true}
}
