package pending

import (
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Void is the outcome of an event that is void on arrival.
func Void(h *held.Event) state.Outcome {
	if h.ExpiredID() {
		return state.OutcomeExpiredID
	}
	return state.OutcomeIgnored
}

// Idle is the outcome of an event that is or was held and changed nothing.
func Idle(h *held.Event) state.Outcome {
	switch {
	case h.ExpiredID():
		return state.OutcomeExpiredID
	case !h.Closed && h.By != held.ByTime, h.Kind == held.KindMark && !h.Head && h.HeadBy == held.ByID:
		return state.OutcomeWaiting
	}
	return state.OutcomeDuplicate
}
