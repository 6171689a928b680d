package loading

import (
	"unsafe"

	"github.com/tidemark/tidemark/projections/internal/state"
)

// Fixed is the memory that stays when channels leave: of cold channels, in bytes.
func Fixed(p *state.State) int64 { return p.Cold.Bytes() + p.Cold.IDBytes() }

// PerListed is about what Fixed grows by for each pair that a Lister lists.
const PerListed = 18

// InUse estimates the memory that would be free if every channel left, in bytes.
func InUse(p *state.State) int64 {
	const (
		chanBytes   = int64(unsafe.Sizeof(state.Channel{})) + 12 // with its place in ChannelTable
		rowBytes    = int64(unsafe.Sizeof(state.Row{})) + 7      // with its place in PairTable
		rareBytes   = int64(unsafe.Sizeof(state.Rare{}))
		userBytes   = int64(unsafe.Sizeof(state.User{})) + 12
		threadBytes = int64(unsafe.Sizeof(state.Thread{})) + 128
		followBytes = int64(unsafe.Sizeof(state.Follow{}))
		listBytes   = 120 // a MemberList with 20 members
		othersBytes = 64  // an OtherRows with a few rows
		extraBytes  = 512
	)
	return int64(p.Channels.Len())*chanBytes + int64(p.Rows.Len()-p.VacantRows)*rowBytes + int64(p.Rares.Len())*rareBytes + int64(p.Follows.Len())*followBytes +
		int64(p.Threads.Len())*threadBytes + int64(p.MemberLists.Len())*listBytes + int64(p.OtherRows.Len())*othersBytes +
		int64(p.ChannelExtras.Len()+p.PairExtras.Len())*extraBytes +
		int64(p.Users.Len())*userBytes + p.Blobs.Live() - p.Cold.IDBytes()
}
