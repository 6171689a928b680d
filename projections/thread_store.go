package projections

import (
	"encoding/binary"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// appendFollower encodes the key of a follow: user id, 0x00, thread id.
func (p *Partition) appendFollower(b []byte, r *state.Row) []byte {
	b = append(append(b, p.rules.UserID(r.User)...), 0)
	return append(b, p.rules.Blobs.Get(p.rules.Threads.At(p.rules.FollowOf(r).Thread).ID)...)
}

// cutThreads encodes the dirty threads and follows.
func (k *cutting) cutThreads() {
	for ti := range k.rules.DirtyThreads {
		t := k.rules.Threads.At(ti)
		k.note(t.Channel, k.rules.Channels.At(t.Channel))
		channel, id := k.channelID(t.Channel), k.rules.Blobs.Get(t.ID)
		k.cutSet(&t.Live, channel, keys.HotReplies, id)
		k.cutSet(&t.Casts, channel, keys.HotBroadcasts, id)
		k.cutSet(&t.Alls, channel, keys.HotThreadAlls, id)
		k.rules.Scratch = k.rules.Scratch[:0]
		if t.First != 0 { // otherwise only reads name it, and the log has everything about its root
			k.rules.Scratch = append(k.rules.Scratch, t.Flags&(state.ThreadGone|state.ThreadUnseen))
			k.rules.Scratch = binary.AppendUvarint(k.rules.Scratch, uint64(t.Root))
			k.rules.Scratch = binary.AppendUvarint(k.rules.Scratch, uint64(t.First))
		}
		k.replace(append(keys.AppendHot(k.rules.KeyScratch[:0], channel, keys.HotThread), id...), k.rules.Scratch)
		k.step()
	}
	for ref := range k.rules.DirtyFollows {
		r := k.rules.Rows.At(ref)
		c := k.rules.Channels.At(r.Channel)
		k.note(r.Channel, c)
		key := k.appendFollower(keys.AppendHot(k.rules.KeyScratch[:0], k.rules.Blobs.Get(c.ID), keys.HotFollow), r)
		k.rules.Scratch = k.rules.Scratch[:0]
		if f := k.rules.FollowOf(r); !k.rules.FollowIdle(r, f) {
			k.rules.Scratch = records.AppendFollow(k.rules.Scratch, f, k.id.Settings.TrimLog)
			k.rules.Scratch = records.AppendRow(k.rules.Scratch, r, k.rules.Whole(r), k.rules.ExtraOfPair(r))
		} else {
			k.idle = append(k.idle, ref)
		}
		k.replace(key, k.rules.Scratch)
		k.step()
	}
}
