package model

// pair is everything about one user in one channel.
type pair struct {
	*reader
	user     string
	member   bool
	left     bool // was a member
	baseline uint32
	shown    spot
	settings *settings
}

// pair returns false if there is no such channel: chat.messages never named it, or it was deleted.
func (m *Model) pair(user, channelID string) (*pair, bool) {
	c := m.timeline().channels[channelID]
	if c == nil || c.deleted {
		return nil, false
	}
	member, ever := c.member[user]
	r := m.readsOf(user, channelID, "")
	return &pair{
		reader: r, user: user, member: member, left: ever && !member, baseline: c.baseline[user], shown: r.shown(),
		settings: m.settingsOf(user, channelID),
	}, true
}

// unread applies the definition of DESIGN §4.2 to one message.
func (p *pair) unread(m *post) bool {
	return m.seq > max(p.shown.seq, p.baseline) && m.counted() && p.channel.live(m) &&
		m.sender != p.user && !p.singles[m.seq] && !p.hides(m) && !p.left
}

// hides reports whether the message is hidden from the user, or by them (DESIGN §4.7).
func (p *pair) hides(m *post) bool { return m.hiddenTo(p.user) || p.settings.hides(m.seq) }

// listed is how many positions a view lists at most.
const listed = 1000

// ask reports whether the reader of a large channel must ask for counts. This is so if a counted
// message above read_pos is hidden from the user, because no delta lists it, if the user hid
// messages that are not posted yet, or if a list is cut.
func (p *pair) ask() bool {
	if !p.channel.large {
		return false
	}
	if p.hidAhead() {
		return true
	}
	from := max(p.shown.seq, p.baseline)
	excluded, mentioned := 0, 0
	for _, x := range p.channel.posts {
		if x.seq <= from || !x.counted() {
			continue
		}
		if x.hiddenTo(p.user) {
			return true
		}
		if x.sender == p.user || p.singles[x.seq] || p.settings.hides(x.seq) {
			excluded++
		}
		if x.mentionsUser(p.user) && !x.deleted {
			mentioned++
		}
	}
	return excluded > listed || mentioned > listed
}

// hidAhead reports whether the user hid up to a message that is not posted yet. Until it is posted,
// excluded lists no hidden messages.
func (p *pair) hidAhead() bool { return p.settings.hiddenTo > p.channel.head() }
