package floors

import (
	"slices"
	"strings"
	"testing"
)

// level is a level of rooms in a house. The linter's rule of a level is the house's prefix, a dash
// and its name.
type level struct {
	name  string
	rooms []string
}

// houses has the packages whose parts are rooms below `internal`, with their levels from the lowest
// up. A room imports only rooms of lower levels, and none of its own level.
var houses = []struct {
	folder, prefix string
	levels         []level
}{
	{"projections", "fold", []level{
		{"bytes", []string{"arena", "keys", "wire"}},
		{"parts", []string{"held", "history", "identity", "overlay", "receipts", "seqset"}},
		{"kept", []string{"cold"}},
		{"state", []string{"state"}},
		{"waiting", []string{"giveway", "pending", "records", "trimming", "warming"}},
		{"rules", []string{"rules"}},
		{"top", []string{"differ", "loading", "outbox", "store", "views"}},
	}},
	{"processor", "steps", []level{
		{"sending", []string{"batches", "sender"}},
		{"base", []string{"arrivals", "failure", "group", "life", "outputs"}},
		{"setup", []string{"merge", "opening", "setup"}},
		{"queues", []string{"inbox", "metrics"}},
		{"engine", []string{"engine"}},
		{"homes", []string{"fetch", "home"}},
		{"worker", []string{"steps"}},
		{"rebuild", []string{"rebuild"}},
	}},
	{"gateway", "sockets", []level{
		{"frames", []string{"bounds", "frames", "interest", "presence", "shown", "skips", "sliced"}},
		{"parts", []string{"admission", "reads", "receipts", "view", "wire"}},
		{"order", []string{"sequence"}},
	}},
	{"query", "query", []level{
		{"base", []string{"body", "codec", "cold", "expiry", "fault", "kept", "reflection", "totals"}},
		{"parts", []string{"audited", "gate", "paging", "peers", "position", "streams"}},
		{"answers", []string{"answer", "ingest", "owners", "selection"}},
	}},
}

// Every room of a house is on a level, and every room on a level exists.
func TestRoomsHaveTheirLevels(t *testing.T) {
	all := list(t, "./...")
	for _, house := range houses {
		var listed, found []string
		for _, l := range house.levels {
			listed = append(listed, l.rooms...)
		}
		for _, p := range all {
			if room, ok := strings.CutPrefix(p.path(), house.folder+"/internal/"); ok && p.product() {
				found = append(found, room)
			}
		}
		slices.Sort(listed)
		slices.Sort(found)
		if !slices.Equal(listed, found) {
			t.Errorf("%s/internal has the rooms %v, and on levels are %v: give a new room a level here and in .golangci.yml", house.folder, found, listed)
		}
	}
}

// The linter refuses every import of a room on a higher level or the same.
func TestTheLinterRefusesRoomsAbove(t *testing.T) {
	plants := map[string][]string{} // by room
	wants := map[string]string{}    // the rule that refuses, by room and import
	for _, house := range houses {
		folder := house.folder + "/internal/"
		for i, l := range house.levels {
			var above []string
			for _, higher := range house.levels[i+1:] {
				above = append(above, higher.rooms...)
			}
			for j, room := range l.rooms {
				plants[folder+room] = nil
				// Of two rooms on a level one imports the other: Go itself refuses a circle.
				for _, other := range append(slices.Clone(l.rooms[j+1:]), above...) {
					plants[folder+room] = append(plants[folder+room], module+folder+other)
					wants[folder+room+" imports "+module+folder+other] = house.prefix + "-" + l.name
				}
			}
		}
	}
	refusals := lint(t, plants)
	for what, rule := range wants {
		if !slices.Contains(refusals[what], rule) {
			t.Errorf("%s: the rule %s does not refuse it (%v do)", what, rule, refusals[what])
		}
		delete(refusals, what)
	}
	if len(refusals) > 0 || len(wants) < 200 {
		t.Errorf("%d imports were planted; not planted and refused: %v", len(wants), refusals)
	}
}
