package views

import (
	"bytes"

	"github.com/tidemark/tidemark/projections/internal/state"
)

// UserRow is one entry of UserRows.
type UserRow struct {
	ChannelID []byte // borrowed, valid during the call
	Member    bool
	// Erased reports that a user_erased was folded, and that the user has done nothing since that
	// is kept.
	Erased bool
}

// UserRows calls fn for every channel of this partition with a row of userID, in no particular
// order, until fn returns false: channels that the user is or was a member of, posted to, was
// mentioned in, or read as a guest. It skips deleted channels, which keep nothing. It needs RLock.
// It returns the error of a corrupt store.
func (p *Queries) UserRows(userID string, fn func(*UserRow) bool) error {
	u := p.rules.UserOf([]byte(userID))
	if u == 0 {
		return p.rules.Err()
	}
	var e UserRow
	for ref := p.rules.Users.At(u).First; ref != 0; {
		r := p.rules.Rows.At(ref)
		ref = r.NextUser
		c := p.rules.Channels.At(r.Channel)
		if r.Flags&state.RowThread != 0 || c.Flags&state.ChannelDeleted != 0 || c.LastM == 0 {
			continue
		}
		e = UserRow{ChannelID: p.rules.Blobs.Get(c.ID), Member: r.Flags&state.RowMember != 0, Erased: p.nothingLeft(r)}
		if !fn(&e) {
			break
		}
	}
	return p.rules.Err()
}

// UserPage is one page of a user's rows, ordered by channel id. Like ViewMemory, it is allocated
// before the lock is taken.
type UserPage struct {
	Rows []UserRow // in no particular order; valid until the next Fill

	after []byte
	ids   []byte
}

// NewUserPage allocates a page of limit rows, of channels whose ids come after the given one.
func NewUserPage(after string, limit int) *UserPage {
	const idBytes = 40
	return &UserPage{Rows: make([]UserRow, 0, limit), after: []byte(after), ids: make([]byte, 0, limit*idBytes)}
}

// Fill fills the page from a partition, and from its cold channels if cold is not nil. It needs
// RLock; the filled page does not. It returns the error of UserRows.
func (u *UserPage) Fill(of, cold Source, userID string) error {
	u.Rows, u.ids = u.Rows[:0], u.ids[:0]
	err := u.add(of, userID)
	if err == nil && cold != nil {
		err = u.add(cold, userID)
	}
	for i := range u.Rows {
		r := &u.Rows[i]
		from := len(u.ids)
		u.ids = append(u.ids, r.ChannelID...)
		r.ChannelID = u.ids[from:len(u.ids):len(u.ids)]
	}
	return err
}

func (u *UserPage) add(of Source, userID string) error {
	return of.queries().UserRows(userID, func(r *UserRow) bool {
		switch {
		case bytes.Compare(r.ChannelID, u.after) <= 0:
		case len(u.Rows) < cap(u.Rows):
			u.Rows = append(u.Rows, *r)
			u.up(len(u.Rows) - 1)
		case bytes.Compare(r.ChannelID, u.Rows[0].ChannelID) < 0: // the first element is the greatest, as in every heap
			u.Rows[0] = *r
			u.down()
		}
		return true
	})
}

func (u *UserPage) before(i, j int) bool {
	return bytes.Compare(u.Rows[i].ChannelID, u.Rows[j].ChannelID) < 0
}

// up moves an added row to its place in the heap.
func (u *UserPage) up(i int) {
	for i > 0 && u.before((i-1)/2, i) {
		u.Rows[i], u.Rows[(i-1)/2] = u.Rows[(i-1)/2], u.Rows[i]
		i = (i - 1) / 2
	}
}

// down moves the new first row to its place in the heap.
func (u *UserPage) down() {
	for i := 0; ; {
		largest := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(u.Rows) && u.before(largest, child) {
				largest = child
			}
		}
		if largest == i {
			return
		}
		u.Rows[i], u.Rows[largest] = u.Rows[largest], u.Rows[i]
		i = largest
	}
}

// nothingLeft reports whether the row of an erased user, and their rows in the channel's threads,
// are as the erasure left them.
func (p *Queries) nothingLeft(r *state.Row) bool {
	if !p.asErased(r) || r.Flags&state.RowMuted != 0 || p.rules.ExtraSettings(r) != nil {
		return false
	}
	for fi := p.rules.RareOf(r).Scope; fi != 0; {
		f := p.rules.Follows.At(fi)
		fi = f.Sibling
		if f.Flags != state.FollowStopped || !p.asErased(p.rules.Rows.At(f.Row)) {
			return false
		}
	}
	return true
}

func (p *Queries) asErased(r *state.Row) bool {
	if !p.rules.Erased(r) || r.Pointer != 0 || p.rules.RareOf(r).Marks != 0 || p.rules.RareOf(r).Public != 0 {
		return false
	}
	x := p.rules.ExtraOfPair(r)
	if x == nil {
		return true
	}
	// Waiting events are content too: hidden messages that are not posted yet are only in
	// OpenReads.
	waits := len(x.Unsettled)+len(x.Floors)+len(x.OpenReads)+len(x.WaitingDeliveries) > 0
	return !waits && x.Singles.Empty() && x.Queued.Empty() && x.Hidden.NoneOwn() && (x.WithThreads == nil || x.WithThreads.Plain())
}
