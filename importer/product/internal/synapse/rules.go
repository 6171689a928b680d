package synapse

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// RoomOf returns the room of a push rule. It reports false for rules that are not of one room.
func RoomOf(rule string) (room string, ok bool) {
	for _, kind := range []string{"global/override/", "global/room/"} {
		if room, is := strings.CutPrefix(rule, kind); is {
			return room, strings.HasPrefix(room, "!")
		}
	}
	return "", false
}

// Quiet reports whether the actions of a push rule, a JSON array, notify of nothing.
func Quiet(actions string) (bool, error) {
	var list []any
	if err := json.Unmarshal([]byte(actions), &list); err != nil {
		return false, err
	}
	return !slices.Contains(list, any("notify")), nil
}

// change is a row of push_rules_stream.
type change struct {
	rule, op string
	quiet    bool  // of ADD and ACTIONS: the new actions notify of nothing
	at       int64 // the newest event before the change, by its stream_ordering
}

// span is a range of events: those after the first one, up to and including the last one.
type span struct{ after, last int64 }

func (s span) has(at int64) bool { return s.after < at && at <= s.last }

// rule is the state of a push rule.
type rule struct{ exists, quiet, disabled bool }

// spans returns the ranges in which the rules of a user for a room muted it, by the changes of
// these rules in order. A rule mutes nothing before its first change.
func spans(changes []change) (list []span) {
	rules := map[string]rule{}
	muted, since := false, int64(0)
	for _, c := range changes {
		r := rules[c.rule]
		switch c.op {
		case "ADD": // also replaces a rule, which stays disabled
			r.exists, r.quiet = true, c.quiet
		case "ACTIONS":
			r.exists, r.quiet = true, c.quiet
		case "ENABLE", "DISABLE":
			r.disabled = c.op == "DISABLE"
		case "DELETE":
			r = rule{}
		}
		rules[c.rule] = r
		now := false
		for _, r := range rules {
			now = now || r.exists && r.quiet && !r.disabled
		}
		switch {
		case now && !muted:
			since = c.at
		case muted && !now && since < c.at:
			list = append(list, span{since, c.at})
		}
		muted = now
	}
	if muted {
		list = append(list, span{since, math.MaxInt64})
	}
	return list
}
