package views

import "github.com/tidemark/tidemark/projections/internal/state"

// The goroutine that folds may call the methods of this file too, without a lock.

// IsMember reports whether a user belongs to a channel.
func (p *Queries) IsMember(userID, channelID string) bool {
	ci, _, ok := p.rules.KnownChannel(channelID)
	return ok && p.rules.PairOrNone(ci, userID).Flags&state.RowMember != 0
}

// FewMembers calls fn with the id of each member of a channel. If more than most users were ever
// members, it calls nothing and returns false, because IsMember for each user of interest is then
// cheaper. fn must not keep the id.
func (p *Queries) FewMembers(channelID string, most int, fn func(userID []byte)) bool {
	_, c, ok := p.rules.KnownChannel(channelID)
	if !ok {
		return true
	}
	if int64(c.Ords) > int64(most) {
		return false
	}
	for ord := range c.Ords {
		if r := p.rules.Rows.At(p.rules.MemberRow(c, ord)); r.Flags&state.RowMember != 0 {
			fn(p.rules.UserID(r.User))
		}
	}
	return true
}
