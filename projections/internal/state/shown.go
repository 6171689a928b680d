package state

import (
	"encoding/binary"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// A row remembers which two messages its last delta named, each with its id, so that the next delta
// need not look them up: a cache, not state. They are in one blob: both seqs, the length of the first
// id, and both ids.

// ShownRead and ShownFirst are the messages that a row remembers: its last_read and its
// first_unread.
const (
	ShownRead = iota
	ShownFirst
)

const (
	shownSeq  = 4
	shownHead = 2*shownSeq + 2
)

// shownOf returns where the row keeps the blob.
func (p *State) shownOf(r *Row) *uint32 {
	if o := p.Listed(r); o != nil {
		return &o.shown
	}
	return &r.shown
}

// ShownID returns the id of a message if the row remembers it. The result is valid until the next
// Show.
func (p *State) ShownID(r *Row, which int, seq uint32) (id []byte, known bool) {
	b := p.Blobs.Get(*p.shownOf(r))
	if len(b) == 0 || binary.LittleEndian.Uint32(b[which*shownSeq:]) != seq {
		return nil, false
	}
	return shownIDs(b)[which], true
}

func shownIDs(b []byte) [2][]byte {
	ids := b[shownHead:]
	n := binary.LittleEndian.Uint16(b[2*shownSeq:])
	return [2][]byte{ids[:n:n], ids[n:]}
}

// Show makes the row remember a message.
func (p *State) Show(r *Row, which int, seq uint32, id []byte) {
	at := p.shownOf(r)
	var seqs [2]uint32
	var ids [2][]byte
	if b := p.Blobs.Get(*at); len(b) > 0 {
		seqs, ids = [2]uint32{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[shownSeq:])}, shownIDs(b)
	}
	seqs[which], ids[which] = seq, id
	var buf [shownHead + 2*keys.MaxID]byte
	b := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(buf[:0], seqs[0]), seqs[1])
	b = binary.LittleEndian.AppendUint16(b, uint16(len(ids[0]))) //nolint:gosec // at most keys.MaxID
	b = append(append(b, ids[0]...), ids[1]...)
	p.Blobs.Release(*at)
	*at = p.Blobs.Put(b)
}

// ForgetShown frees what the row remembers.
func (p *State) ForgetShown(r *Row) {
	at := p.shownOf(r)
	p.Blobs.Release(*at)
	*at = 0
}

// PeekShown loads the memory that ShownID reads.
func (p *State) PeekShown(r *Row) uint64 { return uint64(p.Blobs.First(*p.shownOf(r))) }
