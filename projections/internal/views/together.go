package views

// View is Queries.View. The view is complete after End.
func (v *Views) View(userID, channelID string) (*View, bool) {
	ci, c, ok := v.p.rules.KnownChannel(channelID)
	if !ok {
		return &View{}, false
	}
	view := take(&v.memory.channels)
	view.UserID, view.ChannelID = userID, channelID
	v.p.fillView(c, v.p.rules.PairOrNone(ci, userID), view, v)
	return view, true
}

// Thread is Queries.Thread. The view is complete after End.
func (v *Views) Thread(userID, channelID, threadID string) (*ThreadView, bool) {
	return v.p.thread(userID, channelID, threadID, v)
}

// ThreadAt is Thread for a thread of a Sweep's list that was completed in this hold of the lock,
// without a search by ids. If another thread is at ref, ThreadAt searches by ids.
func (v *Views) ThreadAt(userID, channelID, threadID string, ref ThreadRef) *ThreadView {
	x := v.p.ThreadAtRef(userID, channelID, threadID, ref, v)
	if x == nil {
		x, _ = v.Thread(userID, channelID, threadID)
	}
	return x
}

// WarmThreads touches the memory that ThreadAt reads for these threads, at most ThreadsWarmed of
// them, so that their cache misses overlap. It changes nothing.
func (v *Views) WarmThreads(refs []ThreadRef) {
	var follows [ThreadsWarmed]uint32
	n := 0
	for _, r := range refs {
		if v.p.rules.Follows.Has(r.follow) && v.p.rules.Follows.At(r.follow).Thread != 0 {
			follows[n], n = r.follow, n+1
		}
	}
	v.warmed += v.p.warmFollows(follows[:n])
}

// ListedThread is Thread, but shows a thread that the user's panel does not list (DESIGN §4.4) as
// one that they never followed. The view is complete after End.
func (v *Views) ListedThread(userID, channelID, threadID string) *ThreadView {
	x, ok := v.Thread(userID, channelID, threadID)
	if ok && x.Member && x.Following && x.LastReply.Seq > 0 && !v.p.expired(x.TouchedAt, v.logTime) {
		return x
	}
	return &ThreadView{UserID: userID, ChannelID: channelID, ThreadID: threadID, ReadEpoch: 1}
}
