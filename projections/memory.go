package projections

import (
	"unsafe"

	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// hotBytes is the memory that the partition holds, as the heap has it: whole chunks, whole size
// classes, whether in use or free to be used again. It leaves out the lists of what the next drain
// and the next cut have to do, which belong to the goroutine that folds and are small beside what
// they name. Called with RLock.
func (p *Partition) hotBytes() int64 {
	n := arena.SlabBytes(&p.rules.Channels) + arena.SlabBytes(&p.rules.Rows) + arena.SlabBytes(&p.rules.Users) + arena.SlabBytes(&p.rules.Follows) + arena.SlabBytes(&p.rules.ReceiptEntries)
	n += p.rules.ChannelTable.Bytes() + p.rules.PairTable.Bytes() + p.rules.UserTable.Bytes() + p.rules.ThreadTable.Bytes()
	n += p.rules.Blobs.HeapBytes() + p.rules.Written.Now.HeapBytes() + p.stored.Pending.HeapBytes()
	n += arena.PoolBytes(&p.rules.Threads, (*state.Thread).HeapBytes) + arena.PoolBytes(&p.rules.MemberLists, (*state.MemberList).HeapBytes)
	n += arena.PoolBytes(&p.rules.ChannelExtras, (*state.ChannelExtra).HeapBytes) + arena.PoolBytes(&p.rules.PairExtras, (*state.PairExtra).HeapBytes) + arena.ListBytes(p.rules.Lapses)
	n += p.rules.Cold.Bytes() + arena.MapBytes(p.rules.VacantUsers) + arena.MapBytes(p.rules.VacantThreads)
	return n + int64(p.mergeRoom)*int64(unsafe.Sizeof(receipts.Entry{}))
}
