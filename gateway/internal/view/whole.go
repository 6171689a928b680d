package view

import "github.com/tidemark/tidemark/events"

// Whole is what was said of a channel as a whole.
type Whole struct {
	Archived bool   // for everybody
	Labels   string // as Said has them
}

// WholeOf returns what a record says of its channel.
func WholeOf(r *events.ChannelRecord) Whole { return Whole{r.Archived, Join(r.Labels)} }

// Learn takes what an answer shows, where no record is known.
func (w *Whole) Learn(v *View) {
	if !v.Archived || !v.Filed().Is {
		w.Archived = v.Archived
	}
	w.Labels = ""
	if v.Said == nil || v.Said.Labels == v.Said.OwnLabels {
		return
	}
	own := map[string]bool{}
	for _, label := range Split(v.Said.OwnLabels) {
		own[label] = true
	}
	var labels []string
	for _, label := range Split(v.Said.Labels) {
		if !own[label] {
			labels = append(labels, label)
		}
	}
	w.Labels = Join(labels)
}

// Complete fills into a view whether the channel is listed apart and all of its labels. headPos is
// the position of the channel's head as far as it is known; recorded says that w and headPos are of
// a record. was is the view before. It returns true if only the owner can tell.
func (w *Whole) Complete(v, was *View, headPos uint32, recorded bool) (ask bool) {
	filed, s := v.Filed(), v.Said
	if filed.Is && s.HasPos {
		filed.Is = filed.Holds(headPos)
	}
	v.Archived = w.Archived || filed.Is
	own := v.ownLabels()
	if !recorded { // the head may have moved on, and a label be the channel's, too
		ask = s != nil && s.Filed.Is && !s.Filed.Keep || !v.Archived && was.Archived || own != was.ownLabels()
	}
	if w.Labels == "" && s == nil {
		return ask
	}
	if all := Join(Split(own), Split(w.Labels)); s == nil || s.Labels != all {
		v.Change(func(s *Said) { s.Labels = all })
	}
	return ask
}

func (v *View) ownLabels() string {
	if v.Said == nil {
		return ""
	}
	return v.Said.OwnLabels
}
