package workload

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// Staff are the people who are still in any room, sorted.
func (w *Workload) Staff() (users []string) {
	for _, m := range w.rooms {
		users = append(users, m.people...)
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// Dismiss takes somebody off all rooms: nothing more comes of him, and nobody mentions him. What he did stays, until
// somebody erases him.
func (w *Workload) Dismiss(user string) {
	w.dismiss(user)
}

// Erase makes somebody disappear as tidemark erase-user does: he is dismissed, and each room that he was of is told that
// he left it and is erased in it.
func (w *Workload) Erase(user string) {
	for _, m := range w.dismiss(user) {
		left := w.timeline(m, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersLeft{
			MembersLeft: &eventsv1.MembersLeft{UserIds: []string{user}}}})
		w.send(left)
		w.send(w.record(events.Reads, m.id, &eventsv1.ReadEvent{ChannelId: m.id, UserId: user, OccurredAt: w.clock(),
			Kind: &eventsv1.ReadEvent_UserErased{UserErased: &eventsv1.UserErased{}}}))
	}
}

// dismiss returns the rooms that he was of.
func (w *Workload) dismiss(user string) (was []*room) {
	for _, m := range w.rooms {
		if i := slices.Index(m.people, user); i >= 0 {
			m.people = slices.Delete(m.people, i, i+1)
			was = append(was, m)
		}
	}
	return was
}
