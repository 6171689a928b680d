package projections

import (
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// Keys, DESIGN §5 and docs/formats.md. Ids have no control characters, so 0x00 ends them and keeps the order.
const (
	keyHeader = 'H' // H                                  -> header
	keyCut    = 'K' // K <number uint64 BE>                -> link of the chain of cuts
	keyHot    = 'C' // C <channel> 0x00 <kind> ...         -> what is loaded when the store opens
	keyIndex  = 'I' // I <channel> 0x00 <message id>       -> index entries
	keyLog    = 'L' // L <channel> 0x00 <block uint32 BE>  -> full log block
	// R <channel> 0x00 <block uint32 BE> <page uint32 BE> [<thread>] -> block of receipts
	keyReceipts = 'R'
)

// Kinds below keyHot.
const (
	hotChannel   = 'c' // c                    -> channel record
	hotPage      = 'p' // p <page uint32 BE>   -> page of members
	hotGuest     = 'g' // g <user>             -> row of a user who never joined
	hotUncounted = 'n' // n <hi uint16 BE>     -> set record
	hotDeleted   = 'd' // d <hi uint16 BE>     -> set record
	hotAlls      = 'a' // a <hi uint16 BE>     -> set record
	hotMentions  = 'm' // m <user> 0x00 <hi uint16 BE> -> set record
	hotSingles   = 's' // s <user> 0x00 <hi uint16 BE> -> set record
	hotHeld      = 'w' // w <user>             -> what waits
	hotSizes     = 'l' // l                    -> where messages turned large and small
	hotOpen      = 'r' // r <user>             -> open reads, for receipts
	hotWaiting   = 'v' // v <user>             -> deliveries that wait
	hotQueued    = 'q' // q <user> 0x00 <hi uint16 BE> -> set record
	hotSpans     = 'j' // j <user>             -> memberships

	hotThread         = 't' // t <thread>                              -> thread record
	hotReplies        = 'T' // T <thread> 0x00 <hi uint16 BE>          -> set record
	hotBroadcasts     = 'B' // B <thread> 0x00 <hi uint16 BE>          -> set record
	hotThreadAlls     = 'A' // A <thread> 0x00 <hi uint16 BE>          -> set record
	hotFollow         = 'f' // f <user> 0x00 <thread>                  -> row of a user in a thread
	hotThreadMentions = 'M' // M <user> 0x00 <thread> 0x00 <hi uint16 BE> -> set record
	hotThreadSingles  = 'S' // S <user> 0x00 <thread> 0x00 <hi uint16 BE> -> set record
	hotThreadHeld     = 'W' // W <user> 0x00 <thread>                  -> what waits
	hotThreadOpen     = 'R' // R <user> 0x00 <thread>                  -> open reads, for receipts
)

const (
	maxID  = 256
	keyBuf = 3*maxID + 16
)

func appendHot(dst, channel []byte, kind byte) []byte {
	dst = append(dst, keyHot)
	dst = append(dst, channel...)
	return append(dst, 0, kind)
}

func appendLogKey(dst, channel []byte, block uint32) []byte {
	dst = append(dst, keyLog)
	dst = append(dst, channel...)
	return binary.BigEndian.AppendUint32(append(dst, 0), block)
}

func appendIndexKey(dst, channel, id []byte) []byte {
	dst = append(dst, keyIndex)
	dst = append(dst, channel...)
	return append(append(dst, 0), id...)
}

func appendPageKey(dst, channel []byte, page uint32) []byte {
	return binary.BigEndian.AppendUint32(appendHot(dst, channel, hotPage), page)
}

func appendSetKey(dst, channel []byte, kind byte, user []byte, hi uint16) []byte {
	dst = appendHot(dst, channel, kind)
	if len(user) > 0 {
		dst = append(append(dst, user...), 0)
	}
	return binary.BigEndian.AppendUint16(dst, hi)
}

// prefixEnd is the smallest key above all keys with this prefix.
func prefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// recordHash is what one record adds to the digest.
func recordHash(key, val []byte) [2]uint64 {
	k := xxh3.Hash128(key)
	v := xxh3.Hash128Seed(val, k.Lo)
	return [2]uint64{v.Lo ^ k.Hi, v.Hi + k.Lo}
}

// digest is the sum of all records' hashes modulo 2^128: equal for equal sets of records, whatever the order in which
// they were written.
type digest [2]uint64

func (d *digest) add(h [2]uint64) {
	var c uint64
	d[0], c = bits.Add64(d[0], h[0], 0)
	d[1], _ = bits.Add64(d[1], h[1], c)
}

func (d *digest) sub(h [2]uint64) {
	var b uint64
	d[0], b = bits.Sub64(d[0], h[0], 0)
	d[1], _ = bits.Sub64(d[1], h[1], b)
}

func (d digest) bytes() (out [16]byte) {
	binary.BigEndian.PutUint64(out[:8], d[1])
	binary.BigEndian.PutUint64(out[8:], d[0])
	return out
}
