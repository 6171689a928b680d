package gateway

import "github.com/tidemark/tidemark/gateway/internal/view"

// epoch returns the read epoch of a scope, as far as this gateway knows. Called with the lock.
func (u *user) epoch(s scope) uint32 {
	if s.thread != "" {
		if t := u.threads[s]; t != nil {
			return max(t.view.Epoch, 1)
		}
		return 1
	}
	if e := u.entries[s.channel]; e != nil {
		return max(e.view.Epoch, 1)
	}
	return 1
}

// last returns the read pointer of the user in a scope.
func (u *user) last(e *entry, s scope) view.Ref {
	if s.thread == "" {
		return e.view.Last
	}
	if t := u.threads[s]; t != nil {
		return t.view.Last
	}
	return view.Ref{}
}

// publicRead returns where the gateway stores the message of its last public read for the user in a
// scope. The message is empty if there was none, or if a mark has removed the pointer since. Called
// with the lock.
func (u *user) publicRead(e *entry, s scope) *string {
	if s.thread == "" {
		return &e.publicRead
	}
	if t := u.threads[s]; t != nil {
		return &t.publicRead
	}
	return new(string) // a thread that they do not follow: there is no state of it here
}

// settled reports whether the view of a channel or thread includes all events that this gateway
// wrote for the user there. Until it does, no read may be dropped as redundant, because a mark may
// be on its way.
func (u *user) settled(e *entry, thread string) bool {
	s := &e.stamp
	if thread != "" {
		t := u.threads[scope{e.view.Channel, thread}]
		if t == nil {
			return false
		}
		s = &t.stamp
	}
	return e.writing == 0 && s.R >= e.unsettled
}

// unsettle records that an event is being written. The caller then calls written, with the lock.
func (e *entry) unsettle() (written func(offset int64, err error)) {
	e.writing++
	return func(offset int64, err error) {
		e.writing--
		if err == nil {
			e.unsettled = max(e.unsettled, offset+1)
		}
	}
}

// newest returns the seq of the newest message of a channel that this gateway has sent to the user,
// in a message.new or an inbox, or 0. Called without the lock.
func (u *user) newest(channelID string) uint32 {
	u.hub.mu.Lock()
	defer u.hub.mu.Unlock()
	e := u.entries[channelID]
	if e == nil || e.ch == nil {
		return 0
	}
	return max(e.pushed, e.view.Latest.Seq)
}
