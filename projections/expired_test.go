package projections_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// An event names an existing message by its id, but the message is too old for the event. The event
// never waits, whatever it does with the message and however old the message is. Nothing of the
// event is left once log time has passed it.
func TestExpiredIDDoesNotWait(t *testing.T) {
	var parser script.Parser
	p := open(t, vfs.NewMem(), projections.DefaultSettings())
	defer closePartition(t, p)
	tell := func(line string) projections.Outcome { t.Helper(); return lastOutcome(t, p, &parser, line) }
	tell("a, b join\nb posts m1..m40\nwait 160d\nb posts new")
	for line, want := range map[string]projections.Outcome{
		"a reads up to m1":                 projections.OutcomeExpiredID,
		"a reads up to m30":                projections.OutcomeExpiredID,
		"a reads m2, m31":                  projections.OutcomeExpiredID,
		"a marks unread m3":                projections.OutcomeExpiredID,
		"a marks unread new head m3":       projections.OutcomeExpiredID,
		"a gets m4":                        projections.OutcomeExpiredID,
		"a gets up to m4":                  projections.OutcomeExpiredID,
		"a misses m5":                      projections.OutcomeExpiredID,
		"a reads up to m6 in thread m1":    projections.OutcomeExpiredID,
		"b reads up to never":              projections.OutcomeWaiting,
		"b reads never":                    projections.OutcomeWaiting,
		"b misses never":                   projections.OutcomeWaiting,
		"b marks unread never":             projections.OutcomeApplied, // it begins an epoch
		"b reads up to never in thread m1": projections.OutcomeWaiting,
	} {
		if got := tell(line); got != want {
			t.Errorf("%s: outcome %d, want %d", line, got, want)
		}
	}
	tell("wait 1s\nb posts newer\na reads up to newer")
	var d projections.Deltas
	p.Drain(&d, true)
	cut(t, p)
	if err := p.Dump(func(key, _ []byte) error {
		for _, kind := range []string{"w", "r", "v", "W", "R"} { // waiting events, by user
			if string(key) == "Cc\x00"+kind+"a" || string(key) == "Cc\x00"+kind+"a\x00m1" {
				t.Errorf("record %q is left of what a did", key)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if pos := p.Position(); pos[events.Reads] == 0 || pos[events.Deliveries] == 0 {
		t.Fatal("nothing was folded")
	}
	if v, _ := p.View("a", "c"); v.Unread != 0 || v.LastRead.MessageID != "newer" {
		t.Errorf("a sees %+v", v)
	}
}

// lastOutcome folds the records of a line of package script, and returns the outcome of the last.
func lastOutcome(t *testing.T, p *projections.Partition, parser *script.Parser, line string) (out projections.Outcome) {
	t.Helper()
	records, err := parser.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		records[i].Offset = p.Position()[records[i].Input]
		out = records[i].Fold(p)
	}
	return out
}

// TestForgottenIDWaits: where the log ends, an event that names an expired id does not wait until
// the message is forgotten, a week after it left the index. From then on the id is like any unknown
// one, whether the message was trimmed yet or not.
func TestForgottenIDWaits(t *testing.T) {
	settings := projections.DefaultSettings()
	settings.TrimLog = true
	for _, c := range []struct {
		after string
		want  projections.Outcome
	}{{"96d", projections.OutcomeExpiredID}, {"98d", projections.OutcomeWaiting}} {
		for _, trimmed := range []bool{false, true} {
			var parser script.Parser
			p := open(t, vfs.NewMem(), settings)
			lastOutcome(t, p, &parser, "a, b join\nb posts m1..m40\nwait "+c.after+"\nb posts new\na mutes\na gets new")
			if trimmed {
				cut(t, p)
			}
			for _, line := range []string{"b reads up to m1", "b reads m2, m31", "b gets m4", "b misses m5"} {
				if got := lastOutcome(t, p, &parser, line); got != c.want {
					t.Errorf("after %s, trimmed %t, %s: outcome %d, want %d", c.after, trimmed, line, got, c.want)
				}
			}
			closePartition(t, p)
		}
	}
}
