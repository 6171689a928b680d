package selection

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/badge"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/totals"
)

// Pages are a page of a user's channels, one of their threads, and the totals over all of them,
// during the selection from one partition after the other.
type Pages struct {
	User    string
	Now     int64      // the time as of which the call is answered, Unix milliseconds
	Inbox   *Selection // of channels; nil: not requested
	Threads *Selection // nil: only their part of the totals is requested
	Tally   totals.Tally
	Memory  projections.ViewMemory
}

// Reserve allocates memory for the pages before the lock is taken. For a user with little data it
// allocates nothing: one hold finds everything and allocates little.
func (p *Pages) Reserve(list *projections.Sweep) {
	channels, threads := list.Listed()
	if channels+threads == 0 {
		return
	}
	n, m := 0, 0
	if p.Inbox != nil {
		n = p.Inbox.reserve()
	}
	if p.Threads != nil {
		m = p.Threads.reserve()
	}
	p.Memory.Reserve(n, m)
}

// Choose counts the entries of a list, and selects those for the pages.
func (p *Pages) Choose(list *projections.Sweep) {
	if p.Inbox != nil {
		list.EachChannel(func(e *projections.InboxEntry) {
			p.Tally.AddChannel(totals.PartOf(e.Unread, e.Mentions, e.Standing, p.Now), e.Standing.Labels(), 1)
			p.Inbox.Offer(e)
		})
	}
	var plain badge.Threads // of channels without settings, as most
	p.Threads.eachThread(list, func(e *projections.ThreadEntry) {
		switch {
		case e.Expired:
		case e.Standing == nil:
			plain.Add(e.Unread, e.Mentions, 1)
		default:
			p.Tally.AddThread(totals.PartOf(e.Unread, e.Mentions, e.Standing, p.Now), e.Standing.Labels(), 1)
		}
		if p.Threads != nil {
			p.Threads.OfferThread(e)
		}
	})
	p.Tally.All.AddThreads(plain, events.LevelAll, false, 1)
}

// View begins the views of this partition's entries on the pages. Entries of other partitions keep
// theirs, so each partition is read once.
func (p *Pages) View(views *projections.Views) {
	if p.Inbox != nil {
		for i := range p.Inbox.Kept {
			if e := &p.Inbox.Kept[i]; e.Channel == nil {
				e.Channel, _ = views.View(p.User, e.Key.ID)
			}
		}
	}
	if p.Threads != nil {
		for i := range p.Threads.Kept {
			if i%projections.ThreadsWarmed == 0 {
				p.Threads.warm(views, i)
			}
			if e := &p.Threads.Kept[i]; e.Thread == nil {
				channelID, threadID := e.Key.SplitThread()
				e.Thread = views.ThreadAt(p.User, channelID, threadID, e.Ref)
			}
		}
	}
}

// Chosen is the state that Choose changes.
type Chosen struct {
	tally          totals.Tally
	inbox, threads Selection
}

// Copy returns the state before a partition is read.
func (p *Pages) Copy() Chosen {
	return Chosen{p.Tally.Copy(), p.Inbox.Copy(), p.Threads.Copy()}
}

// Restore undoes the choices since Copy.
func (p *Pages) Restore(c *Chosen) {
	p.Tally = c.tally.Copy()
	p.Inbox.Restore(&c.inbox)
	p.Threads.Restore(&c.threads)
}
