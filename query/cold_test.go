package query

import (
	"runtime"
	"strings"
	"testing"

	"reflect"
)

// TestFewChannelsInMemory runs tests of every call again, with partitions that have no channel in
// memory after any event, unless something of it waits.
func TestFewChannelsInMemory(t *testing.T) {
	t.Setenv("TIDEMARK_TEST_SMALL_MEMORY", "1")
	for _, test := range []func(*testing.T){
		TestInboxOrderAndTotals, TestPagingIsStableWhileOthersChange, TestThreadsOrderAndTotals, TestExplainThread, TestWatchTellsThreads,
		TestAnswersInJSON, TestUnknownAndDeletedChannelsAreNotFound, TestWatchSnapshotThenUpdates, TestWatchFollowsLargeChannels, TestWatchConverges,
		TestWatchSurvivesMoves, TestListUserChannels, TestReceiptsFromSentToRead, TestReaders, TestReceiptsAndReadersPageThroughAll, TestMarkAllRead,
		TestWatchConvergesOnAllSettings, TestWhatWasSaidInTotals, TestPagesOfALabel, TestWatchTellsWhatIsSaid, TestWhoKnowsIsEverybodyWhoHas,
	} {
		name := runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
		t.Run(name[strings.LastIndex(name, ".")+1:], test)
	}
}
