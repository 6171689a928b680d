package cached

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/client"
)

// listedFor is how long a thread is listed after it was touched.
const listedFor = 30 * 24 * time.Hour

// View is what Redis has of a user, as of EvaluatedAt.
type View struct {
	Channels      []Channel         `json:"channels"`
	Threads       []Thread          `json:"threads"`
	Totals        Totals            `json:"totals"`
	TotalsByLabel map[string]Totals `json:"totals_by_label"`
	EvaluatedAt   time.Time         `json:"evaluated_at"`
	// Without has the families of keys that the cache does not write.
	Without []string `json:"without"`
}

// Channel is a channel as Redis has it. If Known is false, Redis does not have its counts.
type Channel struct {
	client.ChannelUnread
	Known bool `json:"known"`
	Large bool `json:"large"`
}

// Thread is a thread as Redis has it.
type Thread struct {
	client.ThreadUnread
	TouchedAt time.Time `json:"touched_at,omitzero"`
}

// Totals are sums over the known channels, and the number of unknown ones.
type Totals struct {
	client.Totals
	Unknown int `json:"unknown"`
}

// raw is Redis' answer to the first of two round trips.
type raw struct {
	epoch          string
	inbox, threads map[string]string
	updated        bool // a channel has labels or was archived for all, so every record is needed
	always         bool // lists threads of any age
}

// snapshot is the state after the first round trip; asks has the channels whose records the second
// one reads.
type snapshot struct {
	families []string
	raw      raw
	now      time.Time
	channels map[string]*entry
	threads  []*entry
	asks     []string
}

func newSnapshot(r raw, now time.Time) (*snapshot, error) {
	there, err := familiesOf(r.epoch)
	if err != nil {
		return nil, err
	}
	if len(r.inbox) == 0 {
		return nil, fmt.Errorf("%w: it has no keys of the user, who is unknown or in no channel", ErrMiss)
	}
	s := &snapshot{families: there, raw: r, now: now, channels: map[string]*entry{}}
	for name, text := range r.inbox {
		e, err := entryOf(name, "", text, now)
		if err != nil {
			return nil, err
		}
		s.channels[name] = e
		if s.needs(e) {
			s.asks = append(s.asks, name)
		}
	}
	for name, text := range r.threads {
		channel, thread, _ := strings.Cut(name, "\x00")
		e, err := entryOf(channel, thread, text, now)
		if err != nil {
			return nil, err
		}
		if s.has("threads") {
			s.threads = append(s.threads, e)
		}
	}
	return s, nil
}

// needs reports whether the counts of a channel need its record.
func (s *snapshot) needs(e *entry) bool {
	return s.has("channels") && (s.raw.updated || e.Large || e.Filed != nil)
}

func (s *snapshot) has(family string) bool { return slices.Contains(s.families, family) }

// view makes the answer from the requested records of channels; "" is a missing record.
func (s *snapshot) view(records map[string]map[string]string) (*View, error) {
	v := &View{EvaluatedAt: s.now, TotalsByLabel: map[string]Totals{}, Without: missing(s.families)}
	var channels []*entry
	for name, e := range s.channels {
		channels = append(channels, e)
		switch {
		case s.needs(e):
			e.settle(records[name])
		case !s.has("channels"):
			if e.settle(nil); s.raw.updated {
				e.forget()
			}
		}
	}
	threads := s.listed(channels)
	order(channels, func(e *entry) bool { return !e.known || e.unread > 0 || e.Flagged })
	order(threads, func(e *entry) bool { return e.unread > 0 })
	for _, e := range channels {
		v.Channels = append(v.Channels, e.asChannel())
		v.add(e.labels, func(t *Totals) { t.channel(e) })
	}
	for _, e := range threads {
		of := s.channels[e.channel]
		v.Threads = append(v.Threads, e.asThread(of))
		v.add(of.labels, func(t *Totals) { t.thread(e, of) })
	}
	return v, nil
}

// listed returns the threads of the user's channels that are not too old. It measures age from the
// newest known time.
func (s *snapshot) listed(channels []*entry) []*entry {
	var newest time.Time
	for _, e := range slices.Concat(channels, s.threads) {
		if e.latest.After(newest) {
			newest = e.latest
		}
	}
	return slices.DeleteFunc(slices.Clone(s.threads), func(e *entry) bool {
		touched := timeOf(e.TouchedAt)
		return s.channels[e.channel] == nil || !s.raw.always && !newest.IsZero() && (touched.IsZero() || newest.Sub(touched) > listedFor)
	})
}

// order sorts entries for which first is true to the front, then by time, newest first.
func order(list []*entry, first func(*entry) bool) {
	slices.SortFunc(list, func(a, b *entry) int {
		if first(a) != first(b) {
			if first(a) {
				return -1
			}
			return 1
		}
		return cmp.Or(b.latest.Compare(a.latest), strings.Compare(a.channel, b.channel), strings.Compare(a.thread, b.thread))
	})
}

// add adds to the totals, and to those of labels.
func (v *View) add(labels []string, to func(*Totals)) {
	to(&v.Totals)
	for _, label := range labels {
		t := v.TotalsByLabel[label]
		to(&t)
		v.TotalsByLabel[label] = t
	}
}

func (t *Totals) channel(e *entry) {
	muted := e.level == client.None
	if !e.known && (!muted || e.archived || e.Filed != nil) {
		t.Unknown++
		return
	}
	news := number(e.unread > 0 || e.Flagged)
	if e.archived {
		t.Archived.UnreadChannels += news
		t.Archived.Mentions += e.mentions
		return
	}
	t.Flagged += number(e.Flagged)
	if muted {
		return
	}
	t.Unread += e.unread
	t.Mentions += e.mentions
	t.UnreadChannels += news
	t.Badge += max(number(e.Flagged), e.badge(e.level))
}

func (t *Totals) thread(e, of *entry) {
	if of.archived || of.level == client.None {
		return
	}
	t.ThreadUnread += e.unread
	t.ThreadMentions += e.mentions
	t.UnreadThreads += number(e.unread > 0)
	t.Badge += e.badge(of.level)
}

// badge returns what an entry adds to the badge at a level other than None.
func (e *entry) badge(level client.Level) int {
	if level == client.Mentions {
		return e.mentions
	}
	return e.unread
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}
