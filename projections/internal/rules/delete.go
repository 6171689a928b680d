package rules

import (
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// deleteChannel removes everything of a channel except that it was deleted (DESIGN §4.1). Its cost
// is proportional to what it removes.
func (p *Fold) deleteChannel(ci uint32, c *state.Channel) {
	id := p.Blobs.Get(c.ID)
	p.noteThreads(c)
	for ref, r := range p.RowsOf(c) {
		if !p.Idle(r) {
			p.PairChanged(ref) // users who are not members have deltas too
		}
		if p.ExtraSettings(r) != nil {
			p.Customized--
		}
		kept := state.Rare{LastR: p.LastR(r), LastD: p.RareOf(r).LastD, Scope: p.RareOf(r).Scope}
		p.DropRare(r)
		p.ForgetShown(r)
		r.Strip()
		*p.EnsureRare(r) = kept
		p.Imply(r)
		delete(p.DirtyGuests, ref)
		delete(p.DirtyFollows, ref)
		delete(p.DirtyPairExtras, ref)
	}
	var kb [keys.Buf]byte
	for page := range (c.Ords + keys.PageLen - 1) / keys.PageLen {
		if h, stored := p.PageHash(c, page); stored {
			p.Written.Digest.Sub(h)
			p.Written.Hot.Sub(h)
			p.Written.Now.Put(keys.AppendPage(kb[:0], id, page), nil, true)
		}
	}
	p.Disband(c)
	p.deleteThreads(c)
	p.dropAdvances(ci, c, func(*receipts.Entry) bool { return true })
	threads := c.Extra
	if x := p.ExtraOf(c); x != nil && x.Threads != 0 {
		*x = state.ChannelExtra{Threads: x.Threads} // kept until the threads have left
	} else if x != nil {
		p.ChannelExtras.Drop(c.Extra)
		threads = 0
	}
	p.Blobs.Release(c.MaxID)
	for i := range c.Tail {
		p.Blobs.Release(c.Tail[i])
	}
	for _, kind := range []byte{keys.Hot, keys.Index, keys.Log, keys.Receipts} {
		prefix := append(append([]byte{kind}, id...), 0)
		err := p.Backing.Scan(prefix, func(key, val []byte) {
			if kind != keys.Hot || (key[len(prefix)] != keys.HotChannel && key[len(prefix)] != keys.HotPage) {
				p.Written.Del(key, val)
			}
		})
		if err != nil {
			p.Fail(fmt.Errorf("deleting channel %q: %w", id, err))
		}
	}
	if c.Flags&state.ChannelSeeded != 0 {
		p.SeededChannels--
	}
	for _, flag := range [...]uint8{state.ChannelUpdated, state.ChannelNewFormat} {
		if c.Flags&flag != 0 {
			p.Customized--
		}
	}
	p.ForgetEnding(ci)
	*c = state.Channel{ID: c.ID, Flags: state.ChannelDeleted, Pending: c.Pending &^ (state.OutMembersChanged | state.OutOpenChanged), LastM: c.LastM, Others: c.Others, Extra: threads,
		Time: state.MinTime, LogTime: state.MinTime, Hash: c.Hash, Dirty: c.Dirty &^ (state.DirtyPage0 | state.DirtyPage0Stored)}
	p.ChannelChanged(ci, c)
	p.Leaving = append(p.Leaving, ci)
}

// noteThreads lists the users whose view of the channel's threads has unpublished changes. An open
// time target moves with each message of the channel without leaving a mark.
func (p *Fold) noteThreads(c *state.Channel) {
	x := p.ExtraOf(c)
	if x == nil {
		return
	}
	for ti := x.Threads; ti != 0; ti = p.Threads.At(ti).Next {
		for fi := p.Threads.At(ti).Follows; fi != 0; fi = p.Follows.At(fi).Next {
			p.noteThread(p.Rows.At(p.Follows.At(fi).Row))
		}
	}
}

// deleteThreads removes the threads of a deleted channel; their records are removed with the
// channel's. It marks every user with a published value in one of them, so that the next drain
// publishes that the thread is gone.
func (p *Fold) deleteThreads(c *state.Channel) {
	x := p.ExtraOf(c)
	if x == nil {
		return
	}
	for ti := x.Threads; ti != 0; ti = p.Threads.At(ti).Next {
		t := p.Threads.At(ti)
		*t = state.Thread{Channel: t.Channel, ID: t.ID, Next: t.Next, Follows: t.Follows, Flags: state.ThreadGone | t.Flags&state.ThreadListed}
		delete(p.DirtyThreads, ti)
		for fi := t.Follows; fi != 0; {
			f := p.Follows.At(fi)
			fi = f.Next
			*f = state.Follow{Thread: f.Thread, Pair: f.Pair, Row: f.Row, Next: f.Next, Sibling: f.Sibling, LastSeen: f.LastSeen}
			p.PairMayHaveChanged(f.Row)
		}
	}
}
