package workload

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/traffic"
)

// Staff returns the people who are still in a room, sorted.
func (w *Workload) Staff() (users []string) {
	for _, m := range w.channels {
		users = append(users, m.people...)
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// Dismiss removes a user from all rooms: they do nothing more, and nobody mentions them. Their
// events keep their effect until the user is erased.
func (w *Workload) Dismiss(user string) {
	w.dismiss(user)
}

// Erase erases a user as tidemark erase-user does: it dismisses them, and writes to each of their
// rooms a members_left and a user_erased.
func (w *Workload) Erase(user string) {
	for _, m := range w.dismiss(user) {
		left := w.timeline(m, &eventsv1.MembersLeft{UserIds: []string{user}})
		w.send(left)
		erased := traffic.Read(m.id, user, &eventsv1.UserErased{})
		erased.OccurredAt = w.clock()
		w.send(w.record(events.Reads, m.id, erased))
	}
}

// dismiss removes the user and returns the rooms that they were in.
func (w *Workload) dismiss(user string) (was []*channel) {
	for _, m := range w.channels {
		if i := slices.Index(m.people, user); i >= 0 {
			m.people = slices.Delete(m.people, i, i+1)
			was = append(was, m)
		}
	}
	return was
}
