package chats

import (
	"maps"
	"slices"
)

// place is a scope in which a user has counts. The thread of the room itself is main.
type place struct{ user, room, thread string }

// push is a row of event_push_actions.
type push struct {
	place
	event           *event
	notif           bool
	highlight, gone bool // gone: summed up and removed
}

// summary is a row of event_push_summary.
type summary struct {
	count, stream int64
	last          int64 // 0 is NULL
}

// notify makes the push actions of a message, by the default push rules: for all other members
// except those who muted the room. Stickers, polls and notices notify nobody. An edit notifies only
// the users whom it mentions.
func (s *Synapse) notify(e *event, m Message) {
	thread := "main"
	if e.relation == "m.thread" {
		thread = e.relates
	}
	if e.relation == "m.replace" {
		if root := s.event(e.relates); root != nil && root.relation == "m.thread" {
			thread = root.relates
		}
	}
	joined := s.room(e.room).joined
	for _, user := range slices.Sorted(maps.Keys(joined)) {
		if !joined[user] || user == e.sender || s.mutes(user, e.room) {
			continue
		}
		p := &push{place: place{user, e.room, thread}, event: e, highlight: m.Everybody || slices.Contains(m.Mentions, user)}
		p.notif = p.highlight || e.relation == "" && m.Type != "m.notice" && (e.kind == "m.room.message" || e.kind == "m.room.encrypted") || e.relation == "m.thread"
		if p.notif {
			s.pushes = append(s.pushes, p)
		}
	}
}

func (s *Synapse) mutes(user, room string) bool {
	return slices.ContainsFunc(s.muted, func(m [3]string) bool {
		return m[0] == user && (m[1] == "global/override/"+room || m[1] == "global/room/"+room) && !s.unmuted[user+" "+m[1]]
	})
}

// readPushes removes the push actions that a receipt reads, and counts the remaining summed-up ones
// again. Actions that are already gone are missing from that count, so Synapse's number becomes too
// low.
func (s *Synapse) readPushes(r *receipt) {
	of := func(at place) bool {
		return at.user == r.user && at.room == r.room && (r.thread == nil || *r.thread == at.thread)
	}
	s.pushes = slices.DeleteFunc(s.pushes, func(p *push) bool { return of(p.place) && p.event.stream <= r.event.stream })
	for at, sum := range s.summaries {
		if !of(at) {
			continue
		}
		sum.count, sum.last = 0, r.event.stream
		for _, p := range s.pushes {
			if p.place == at && p.notif && !p.gone && p.event.stream <= s.rotated {
				sum.count++
			}
		}
	}
}

// Rotate sums up all push actions, as Synapse does every half minute.
func (s *Synapse) Rotate() {
	end := int64(len(s.events))
	for _, p := range s.pushes {
		if p.event.stream <= s.rotated || !p.notif {
			continue
		}
		sum := s.summaries[p.place]
		if sum == nil {
			sum = &summary{last: s.latest(p.place)}
			s.summaries[p.place] = sum
		}
		sum.count, sum.stream = sum.count+1, end
	}
	s.rotated = end
}

// latest returns the position of the newest receipt that reads a place.
func (s *Synapse) latest(at place) (stream int64) {
	for _, r := range s.receipts {
		if r.user == at.user && r.room == at.room && (r.thread == nil || *r.thread == at.thread) {
			stream = max(stream, r.event.stream)
		}
	}
	return stream
}

// Sweep removes summed-up push actions except highlights, as Synapse does after a day.
func (s *Synapse) Sweep() {
	for _, p := range s.pushes {
		p.gone = p.gone || p.event.stream <= s.rotated && !p.highlight
	}
}
