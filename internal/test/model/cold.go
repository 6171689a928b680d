package model

import "github.com/tidemark/tidemark/projections"

// WithCold answers questions about a partition as a node does: those about cold channels from the
// store. It panics if the store cannot be read. The partition must not change until Close.
type WithCold struct {
	*projections.Partition
	Answers int // number of answers about cold channels

	reads []*projections.ColdRead
	parts map[string]*projections.Partition // by channel, and by user with a slash before
}

// Close ends all reads.
func (w *WithCold) Close() {
	for _, r := range w.reads {
		r.Close()
	}
}

// of returns the source of answers about a channel.
func (w *WithCold) of(channel string) *projections.Partition {
	return w.load(channel, func() *projections.ColdRead { return w.ColdChannel(channel) })
}

// ofUser returns the source of answers about the cold channels of a user, or the partition if there
// are none.
func (w *WithCold) ofUser(user string) *projections.Partition {
	return w.load("/"+user, func() *projections.ColdRead { return w.ColdOf(user) })
}

func (w *WithCold) load(key string, read func() *projections.ColdRead) *projections.Partition {
	if p := w.parts[key]; p != nil {
		return p
	}
	p := w.Partition
	if r := read(); r != nil {
		w.reads = append(w.reads, r)
		var err error
		if p, err = r.Load(); err != nil {
			panic(err)
		}
		w.Answers++
	}
	if w.parts == nil {
		w.parts = map[string]*projections.Partition{}
	}
	w.parts[key] = p
	return p
}

// Channel implements Folded.
func (w *WithCold) Channel(channel string) (projections.ChannelView, bool) {
	p := w.of(channel)
	return p.Channel(channel)
}

// View implements Folded.
func (w *WithCold) View(user, channel string) (projections.View, bool) {
	p := w.of(channel)
	return p.View(user, channel)
}

// Thread implements Folded.
func (w *WithCold) Thread(user, channel, thread string) (projections.ThreadView, bool) {
	p := w.of(channel)
	return p.Thread(user, channel, thread)
}

// Explain implements Folded.
func (w *WithCold) Explain(user, channel string) (projections.Explanation, bool) {
	p := w.of(channel)
	return p.Explain(user, channel)
}

// ExplainThread implements Folded.
func (w *WithCold) ExplainThread(user, channel, thread string) (projections.Explanation, bool) {
	p := w.of(channel)
	return p.ExplainThread(user, channel, thread)
}

// Readers implements Folded.
func (w *WithCold) Readers(channel string, from uint32, limit int) (projections.ReadersView, bool) {
	p := w.of(channel)
	return p.Readers(channel, from, limit)
}

// Receipts implements Folded.
func (w *WithCold) Receipts(channel, message string, from uint32, limit int) (projections.ReceiptsView, bool) {
	p := w.of(channel)
	return p.Receipts(channel, message, from, limit)
}

// Inbox implements Folded.
func (w *WithCold) Inbox(user string, fn func(*projections.InboxEntry) bool) error {
	cold := w.ofUser(user)
	err := w.Partition.Inbox(user, fn)
	if err == nil && cold != w.Partition {
		err = cold.Inbox(user, fn)
	}
	return err
}

// Threads implements Folded.
func (w *WithCold) Threads(user string, fn func(*projections.ThreadView) bool) error {
	cold := w.ofUser(user)
	err := w.Partition.Threads(user, fn)
	if err == nil && cold != w.Partition {
		err = cold.Threads(user, fn)
	}
	return err
}

// Parts implements InParts.
func (w *WithCold) Parts(user string) []projections.Source {
	if cold := w.ofUser(user); cold != w.Partition {
		return []projections.Source{w.Partition, cold}
	}
	return []projections.Source{w.Partition}
}

// UserRows calls fn for every channel in which a user has a row.
func (w *WithCold) UserRows(user string, fn func(*projections.UserRow) bool) error {
	cold := w.ofUser(user)
	err := w.Partition.UserRows(user, fn)
	if err == nil && cold != w.Partition {
		err = cold.UserRows(user, fn)
	}
	return err
}
