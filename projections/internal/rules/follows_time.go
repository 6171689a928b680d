package rules

// FollowsTime reports whether a read of a user in a channel is up to a time that messages may still
// come before: with each of them the user's pointer moves. RLock is held.
func (p *Fold) FollowsTime(userID, channelID string) bool {
	ci, _, ok := p.KnownChannel(channelID)
	if !ok {
		return false
	}
	x := p.ExtraOfPair(p.PairOrNone(ci, userID))
	return x != nil && x.OpenInTime()
}
