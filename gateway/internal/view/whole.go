package view

import "github.com/tidemark/tidemark/events"

// Whole is the part of a channel's state that is the same for all users.
type Whole struct {
	Archived bool   // archived for everybody
	Labels   string // labels, encoded as in Details
	known    bool   // from a record or an answer
}

// WholeOf returns the Whole of a channel record.
func WholeOf(r *events.ChannelRecord) Whole { return Whole{r.Archived, Join(r.Labels), true} }

// Learn takes the values of an answer when there is no record.
func (w *Whole) Learn(v *View) {
	if !v.Archived || !v.Filed().Is {
		w.Archived = v.Archived
	}
	w.Labels, w.known = "", true
	if v.Details == nil || v.Details.Labels == v.Details.OwnLabels {
		return
	}
	own := map[string]bool{}
	for _, label := range Split(v.Details.OwnLabels) {
		own[label] = true
	}
	var labels []string
	for _, label := range Split(v.Details.Labels) {
		if !own[label] {
			labels = append(labels, label)
		}
	}
	w.Labels = Join(labels)
}

// Complete sets whether the channel is listed apart, and all of its labels, in a view. headPos is
// the position of the channel's head as far as it is known; recorded reports that w and headPos
// come from a record. was is the previous view. Complete returns true if only the owner has the
// values.
func (w *Whole) Complete(v, was *View, headPos uint32, recorded bool) (ask bool) {
	filed, s := v.Filed(), v.Details
	if filed.Is && s.HasPos {
		filed.Is = filed.Holds(headPos)
	}
	v.Archived = w.Archived || filed.Is
	own := v.ownLabels()
	if !recorded { // the head may have moved on, a label may be the channel's too, and its record may have come before its first member
		ask = !w.known || s != nil && s.Filed.Is && !s.Filed.Keep || !v.Archived && was.Archived || own != was.ownLabels()
	}
	if w.Labels == "" && s == nil {
		return ask
	}
	if all := Join(Split(own), Split(w.Labels)); s == nil || s.Labels != all {
		v.Change(func(s *Details) { s.Labels = all })
	}
	return ask
}

func (v *View) ownLabels() string {
	if v.Details == nil {
		return ""
	}
	return v.Details.OwnLabels
}
