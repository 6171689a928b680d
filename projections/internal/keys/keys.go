package keys

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// Keys, DESIGN §5 and docs/formats.md. Ids have no control characters, so the terminator 0x00 keeps
// their order.
const (
	Header = 'H' // H                                  -> header
	Cut    = 'K' // K <number uint64 BE>                -> link of the chain of cuts
	Hot    = 'C' // C <channel> 0x00 <kind> ...         -> records that are loaded when the store opens
	Index  = 'I' // I <channel> 0x00 <message id>       -> index entries
	Log    = 'L' // L <channel> 0x00 <block uint32 BE>  -> full log block
	// R <channel> 0x00 <block uint32 BE> <page uint32 BE> [<thread>] -> block of receipts
	Receipts = 'R'
)

// Kinds below Hot.
const (
	HotChannel   = 'c' // c                    -> channel record
	HotPage      = 'p' // p <page uint32 BE>   -> page of members
	HotGuest     = 'g' // g <user>             -> row of a user who never joined
	HotUncounted = 'n' // n <hi uint16 BE>     -> set record
	HotDeleted   = 'd' // d <hi uint16 BE>     -> set record
	HotAlls      = 'a' // a <hi uint16 BE>     -> set record
	HotMentions  = 'm' // m <user> 0x00 <hi uint16 BE> -> set record
	HotSingles   = 's' // s <user> 0x00 <hi uint16 BE> -> set record
	HotPending   = 'w' // w <user>             -> held events
	HotSizes     = 'l' // l                    -> where messages turned large and small
	HotOpen      = 'r' // r <user>             -> open reads, for receipts
	HotWaiting   = 'v' // v <user>             -> waiting deliveries
	HotQueued    = 'q' // q <user> 0x00 <hi uint16 BE> -> set record
	HotSpans     = 'j' // j <user>             -> memberships
	HotSettings  = 'o' // o <user>             -> line and labels
	HotUnseen    = 'x' // x <user> 0x00 <hi uint16 BE> -> set record
	HotHidden    = 'h' // h <user> 0x00 <hi uint16 BE> -> set record
	HotHiddenTo  = 'H' // H <user>             -> the message up to which the user hid everything
	HotReadAll   = 'k' // k <user>             -> reads of the channel with its threads

	HotThread         = 't' // t <thread>                              -> thread record
	HotReplies        = 'T' // T <thread> 0x00 <hi uint16 BE>          -> set record
	HotBroadcasts     = 'B' // B <thread> 0x00 <hi uint16 BE>          -> set record
	HotThreadAlls     = 'A' // A <thread> 0x00 <hi uint16 BE>          -> set record
	HotFollow         = 'f' // f <user> 0x00 <thread>                  -> row of a user in a thread
	HotThreadMentions = 'M' // M <user> 0x00 <thread> 0x00 <hi uint16 BE> -> set record
	HotThreadSingles  = 'S' // S <user> 0x00 <thread> 0x00 <hi uint16 BE> -> set record
	HotThreadPending  = 'W' // W <user> 0x00 <thread>                  -> held events
	HotThreadOpen     = 'R' // R <user> 0x00 <thread>                  -> open reads, for receipts
	HotThreadReadAll  = 'K' // K <user> 0x00 <thread>                  -> reads of the channel with its threads
)

// Scope lists the kinds of a user's records in a channel, or in one of its threads.
type Scope struct{ Mentions, Singles, Pending, Open, ReadAll byte }

// The records of both scopes have the same formats. The key ends with a user, or with a user and a
// thread.
var (
	InChannel = Scope{HotMentions, HotSingles, HotPending, HotOpen, HotReadAll}
	InThread  = Scope{HotThreadMentions, HotThreadSingles, HotThreadPending, HotThreadOpen, HotThreadReadAll}
)

// Has reports whether the scope has this kind.
func (s Scope) Has(kind byte) bool {
	return kind == s.Mentions || kind == s.Singles || kind == s.Pending || kind == s.Open || kind == s.ReadAll
}

// MaxID is the length of the longest id in bytes; Buf is enough for any key.
const (
	MaxID = 256
	Buf   = 3*MaxID + 16
)

// AppendHot appends the beginning of a hot record's key.
func AppendHot(dst, channel []byte, kind byte) []byte {
	dst = append(dst, Hot)
	dst = append(dst, channel...)
	return append(dst, 0, kind)
}

// AppendLog appends the key of a log block.
func AppendLog(dst, channel []byte, block uint32) []byte {
	dst = append(dst, Log)
	dst = append(dst, channel...)
	return binary.BigEndian.AppendUint32(append(dst, 0), block)
}

// AppendIndex appends the key of the index entries of a message id.
func AppendIndex(dst, channel, id []byte) []byte {
	dst = append(dst, Index)
	dst = append(dst, channel...)
	return append(append(dst, 0), id...)
}

// PageLen is the number of members in one page record. Members are ordered by their first join.
const PageLen = 64

// AppendPage appends the key of a page of members.
func AppendPage(dst, channel []byte, page uint32) []byte {
	return binary.BigEndian.AppendUint32(AppendHot(dst, channel, HotPage), page)
}

// AppendSet appends the key of a set record of a channel, or of a user or thread in it.
func AppendSet(dst, channel []byte, kind byte, user []byte, hi uint16) []byte {
	dst = AppendHot(dst, channel, kind)
	if len(user) > 0 {
		dst = append(append(dst, user...), 0)
	}
	return binary.BigEndian.AppendUint16(dst, hi)
}

// CutHi splits the high half of the seqs off the end of a set's key.
func CutHi(rest []byte) (id []byte, hi uint16, err error) {
	n := len(rest) - 3
	if n <= 0 || rest[n] != 0 {
		return nil, 0, errors.New("malformed key")
	}
	return rest[:n], binary.BigEndian.Uint16(rest[n+1:]), nil
}

// PrefixEnd returns the smallest key above all keys with this prefix.
func PrefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// RecordHash returns the hash of one record for the digest.
func RecordHash(key, val []byte) [2]uint64 {
	k := xxh3.Hash128(key)
	v := xxh3.Hash128Seed(val, k.Lo)
	return [2]uint64{v.Lo ^ k.Hi, v.Hi + k.Lo}
}

// Digest is the sum of all records' hashes modulo 2^128. Equal sets of records have equal digests,
// whatever the order of writes.
type Digest [2]uint64

// Add adds the hash of a written record.
func (d *Digest) Add(h [2]uint64) {
	var c uint64
	d[0], c = bits.Add64(d[0], h[0], 0)
	d[1], _ = bits.Add64(d[1], h[1], c)
}

// Sub subtracts the hash of a removed record.
func (d *Digest) Sub(h [2]uint64) {
	var b uint64
	d[0], b = bits.Sub64(d[0], h[0], 0)
	d[1], _ = bits.Sub64(d[1], h[1], b)
}

// Bytes returns the digest as it is stored and compared.
func (d Digest) Bytes() (out [16]byte) {
	binary.BigEndian.PutUint64(out[:8], d[1])
	binary.BigEndian.PutUint64(out[8:], d[0])
	return out
}

// AppendCut appends the key of a link of the chain of cuts.
func AppendCut(dst []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, Cut), n)
}

// AppendReceipt appends the key of a page of receipts.
func AppendReceipt(dst, channel []byte, block, page uint32, thread []byte) []byte {
	dst = append(append(append(dst, Receipts), channel...), 0)
	dst = binary.BigEndian.AppendUint32(dst, block)
	return append(binary.BigEndian.AppendUint32(dst, page), thread...)
}
