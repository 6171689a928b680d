package main

import (
	"slices"
	"testing"
	"time"

	"github.com/tidemark/tidemark/importer/demo"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// The known defects of Synapse land in their buckets. heal's statements lower and raise its
// numbers, until none is wrong.
func TestHealSynapse(t *testing.T) {
	const strange = " in a thread that they do not follow: Synapse notifies all members"
	left := []string{
		"@ann:here !fun:here: theirs 1, ours 3: policy: 2 stickers or polls less: their default push rules notify nobody",
		"@ann:here !general:here thread $e20: theirs 3, ours 0: policy: 3" + strange,
		"@bob:here !ann-bob:here: theirs 1, ours 2: policy: 1 less from before they joined the direct room",
		"@bob:here !quiet:here: theirs 1, ours 0: policy: 1 before a message of their own: Synapse waits for a receipt",
		"@cem:here !general:here thread $e20: theirs 3, ours 0: policy: 3" + strange,
		"@dee:here !general:here thread $e20: theirs 3, ours 0: policy: 3" + strange,
		"@dee:here !night:here: theirs 1, ours 3: policy: 2 less from while they had muted the room",
		"@eve:here !general:here thread $e20: theirs 1, ours 0: policy: 1" + strange,
		"@fay:here !general:here thread $e20: theirs 1, ours 0: policy: 1" + strange,
		"@gus:here !general:here: theirs 0, ours 2: policy: 2 less, because they muted the room",
		"@hal:here !general:here thread $e20: theirs 3, ours 0: policy: 3" + strange,
	}
	want := append([]string{
		"@ann:here !quiet:here: theirs 1, ours 2: theirs_wrong: stale: their own rows have 2",
		"@cem:here !lost:here: theirs 0, ours 1: theirs_wrong: stale: their own rows have 1",
		"@eve:here !general:here: theirs 1 (1 @), ours 0: theirs_wrong: stale: their own rows have 0",
		"@cem:here !general:here: theirs 3 (1 @), ours 2 (1 @): theirs_wrong: 1 redacted, but counted",
		"@fay:here !general:here: theirs 1 (1 @), ours 0: theirs_wrong: stale: their own rows have 0",
		"@hal:here !general:here: theirs 3, ours 2: theirs_wrong: 1 redacted, but counted",
	}, left...)
	slices.Sort(want)
	healed(t, testkit.Postgres(t), demo.SQL("synapse", time.Now()), want, left, "synapse")
}
