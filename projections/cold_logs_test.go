package projections_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// TestColdLogs: a channel whose log waits for the log times of the topics stays in memory, also when its
// store is opened, until a cut has trimmed the log. Then it leaves, and comes back with a trimmed log.
func TestColdLogs(t *testing.T) {
	for _, later := range []bool{false, true} {
		settings := projections.DefaultSettings()
		settings.TrimLog = true
		fs, memory := [...]vfs.FS{vfs.NewMem(), vfs.NewMem()}, int64(1)
		small, large := openSmall(t, fs[0], settings, &memory, later), open(t, fs[1], settings)
		var ofSmall, ofLarge script.Parser
		tell := func(lines string) {
			t.Helper()
			lastOutcome(t, small, &ofSmall, lines)
			lastOutcome(t, large, &ofLarge, lines)
			for range 3 { // a channel in use leaves with the second cut, and stays away with the third
				cut(t, small)
				cut(t, large)
			}
			if a, b := dump(t, small), dump(t, large); a != b {
				t.Fatalf("after %s\nthe bytes differ with a memory of few channels:\n%s\nand of all:\n%s", lines, a, b)
			}
		}
		want := func(at string, waiting, trimmed, cold int) {
			t.Helper()
			isWaiting, isTrimmed := small.ColdLogs()
			if s := small.Stats(); isWaiting != waiting || isTrimmed != trimmed || s.ColdChannels != cold {
				t.Errorf("later %t, %s: %d logs wait, %d cold ones are trimmed, %d channels are cold, want %d, %d, %d", later, at, isWaiting, isTrimmed, s.ColdChannels, waiting, trimmed, cold)
			}
		}
		// Opening reads channel b first. Then memory is full, so that it only skims channel c.
		reopen := func() {
			t.Helper()
			closePartition(t, small)
			small = openSmall(t, fs[0], settings, &memory, later)
			if !small.Listed() {
				listSome(t, small, 1000)
			}
		}
		tell("a, b join\nb posts m1..m40\na mutes\na gets m1\n#b u joins\n#b u posts x1..x3")
		want("new", 0, 0, 2)
		tell("#d a, b join\n#d b posts first\nwait 98d\n#d b posts d1..d40")
		want("the first block of d began early and ended late", 0, 0, 3)
		reopen()
		want("opened with it", 0, 0, 3)
		tell("#d a mutes")
		want("it was in memory meanwhile", 0, 0, 3)
		tell("wait 98d\nb posts new")
		want("the topics lag", 1, 0, 2)
		reopen()
		want("opened while the topics lag", 1, 0, 2)
		tell("#b u posts x4\n#b u mutes\n#b u gets x4")
		want("the topics have passed", 0, 1, 3)
		reopen()
		want("opened when trimmed", 0, 1, 3)
		tell("wait 98d\n#b u posts x5\n#b u mutes\n#b u gets x5")
		want("nothing in the channel", 0, 1, 3)
		tell("b posts newer\na reads up to newer\na gets newer")
		want("the channel goes on", 0, 1, 3)
		closePartition(t, small)
		closePartition(t, large)
	}
}
