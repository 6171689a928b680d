package script

import (
	"fmt"
	"strings"

	"github.com/tidemark/tidemark/events"
)

// Parser reads lines of script. It keeps a clock: every record comes one second after the previous
// one, in any topic. The zero Parser starts at Start.
//
// Lines of chat.messages:
//
//	a, b join                            also "a joins"; "counting history": older ones are unread
//	a leaves                             also "a, b leave"
//	b posts m1 "hello" @a @all           "m1..m9" are nine posts; also: silent, in thread m0,
//	                                     broadcast, members 60, hidden from a, u; reading, not
//	                                     reading (marks_read)
//	notice m2 "b renamed the channel"    a silent message without a sender
//	edit m1 "hello!" @a                  restates the mentions; "keeping mentions" does not
//	delete m1                            also "delete m1 seq 7", "delete seq 7"
//	seed 12 messages                     what was there before the topics began
//	purge up to m5                       also "seq 5", "time 0:00:05", "time of m5"
//	update the channel labels x, y       also: archived; without either it takes back an earlier one
//	delete the channel
//
// Lines of chat.reads:
//
//	a reads up to m1                     also "seq 5", "time 0:00:05", "time of m5"; then: with
//	                                     threads; also: epoch 2, private, in thread m0
//	a reads m1, m3                       single messages; also: epoch 2, private, in thread m0
//	a marks unread m3                    also "a marks unread m3 seq 3", "seq 3"; also: head m5, head
//	                                     seq 5, in thread m0
//	a mutes                              also "a unmutes"
//	a follows m0                         a thread; also "a unfollows m0"
//	a wants mentions                     or everything, or nothing; also: until 0:00:05, ignoring
//	                                     @all, heeding @all
//	a flags                              also: head seq 5; "a unflags"
//	a files                              also: for good, head seq 5; "a unfiles"
//	a hides m1, m2                       also "a hides up to seq 5", "a hides m7 up to seq 5"
//	a draws the line under m1            also "under seq 5"
//	a views m1, m2
//	a labels work, home                  also "a labels nothing"
//	a is erased
//
// Lines of chat.deliveries:
//
//	a gets m1                            also "a gets up to m1"
//	a misses m1                          nobody could show it: queued
//
// All lines may also have: "#general", the channel ("#c" if left out); "at 0:00:05" or "at time of
// m1", when the event says it occurred; "recorded 0:00:05", the record's timestamp (if left out the
// clock's, or the "at" if that is later); reads also "from phone1", the instance.
//
// Lines that are not events:
//
//	wait 8d                              moves the clock
//	again                                the same record as before once more
type Parser struct {
	clock   int64 // since Start
	last    []Record
	sentAt  map[string]int64 // channel, 0x00, message id -> occurred_at of the post
	lineNum int
}

// Parse reads lines and returns their records without offsets (see Log.Add). Errors name the line,
// counted over all calls.
func (p *Parser) Parse(text string) ([]Record, error) {
	var out []Record
	for s := range strings.Lines(text) {
		p.lineNum++
		records, err := p.parseLine(strings.TrimSpace(s))
		if err != nil {
			return out, fmt.Errorf("script line %d, %q: %w", p.lineNum, strings.TrimSpace(s), err)
		}
		out = append(out, records...)
	}
	return out, nil
}

func (p *Parser) parseLine(s string) ([]Record, error) {
	l, err := split(s)
	if err != nil || len(l.tokens) == 0 {
		return nil, err
	}
	switch {
	case l.take("wait"):
		ms, err := ParseSpan(l.word("how long"))
		if err != nil {
			return nil, err
		}
		p.clock += ms
		return nil, l.end()
	case l.take("again"):
		if len(p.last) == 0 {
			return nil, fmt.Errorf("there is no record before")
		}
		return p.last, l.end()
	}
	var h head
	p.head(&l, &h)
	records := p.event(&l, &h)
	if err := l.end(); err != nil {
		return nil, err
	}
	for i := range records {
		if err := p.stamp(&records[i], &h); err != nil {
			return nil, err
		}
	}
	p.last = records
	return records, nil
}

// head has the parts that all lines may have.
type head struct {
	channel  string
	at       *int64
	recorded *int64
}

func (p *Parser) head(l *line, h *head) {
	h.channel = DefaultChannel
	if names := l.prefixed("#"); len(names) > 0 {
		h.channel = names[0]
	}
	h.at = p.timeAfter("at", l, h)
	h.recorded = p.timeAfter("recorded", l, h)
}

// timeAfter reads the time that follows word, nil if the word is not in the line.
func (p *Parser) timeAfter(word string, l *line, h *head) *int64 {
	tail, ok := l.option(word)
	if !ok {
		return nil
	}
	tail.take("time")
	t := p.time(tail, h)
	l.rejoin(tail)
	return &t
}

// stamp gives a record its times and channel.
func (p *Parser) stamp(r *Record, h *head) error {
	p.clock += second
	r.Timestamp = Start + p.clock
	if h.recorded != nil {
		r.Timestamp = *h.recorded
	}
	at := r.Timestamp
	if h.at != nil {
		at = *h.at
		if h.recorded == nil {
			r.Timestamp = max(r.Timestamp, at)
		}
	}
	if at > r.Timestamp+events.MaxClockAhead {
		return fmt.Errorf("it says %s, more than 5 minutes ahead of its record's %s: the decoder replaces such times",
			FormatTime(at), FormatTime(r.Timestamp))
	}
	channel := []byte(h.channel)
	switch r.Input {
	case events.Messages:
		r.Message.ChannelID, r.Message.OccurredAt = channel, at
		if r.Message.Kind == events.KindMessagePosted {
			if p.sentAt == nil {
				p.sentAt = map[string]int64{}
			}
			p.sentAt[h.channel+"\x00"+string(r.Message.MessageID)] = at
		}
	case events.Reads:
		r.Read.ChannelID, r.Read.OccurredAt = channel, at
	default:
		r.Delivery.ChannelID, r.Delivery.OccurredAt = channel, at
	}
	return nil
}
