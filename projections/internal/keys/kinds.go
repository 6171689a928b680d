package keys

import "bytes"

// Kinds names the kinds in the order of docs/formats.md.
var Kinds = []struct {
	top, hot byte
	Name     string
}{
	{Hot, HotChannel, "channels"}, {Hot, HotPage, "pages of members"}, {Hot, HotGuest, "users who never joined"},
	{Hot, HotUncounted, "uncounted messages (sets)"}, {Hot, HotDeleted, "deleted messages (sets)"},
	{Hot, HotAlls, "@all messages (sets)"}, {Hot, HotMentions, "mentions (sets)"}, {Hot, HotSingles, "single reads (sets)"},
	{Hot, HotPending, "waiting reads"}, {Hot, HotThread, "threads"}, {Hot, HotReplies, "replies (sets)"},
	{Hot, HotBroadcasts, "broadcast replies (sets)"}, {Hot, HotThreadAlls, "@all replies (sets)"},
	{Hot, HotFollow, "users in threads"}, {Hot, HotThreadMentions, "mentions in threads (sets)"},
	{Hot, HotThreadSingles, "single reads in threads (sets)"}, {Hot, HotThreadPending, "waiting reads in threads"},
	{Hot, HotSizes, "receipt limits (changes)"}, {Hot, HotOpen, "open reads, for receipts"},
	{Hot, HotThreadOpen, "open reads in threads, for receipts"}, {Hot, HotWaiting, "waiting deliveries"},
	{Hot, HotQueued, "queued messages (sets)"}, {Hot, HotSpans, "memberships"}, {Hot, HotUnseen, "messages hidden from users (sets)"},
	{Hot, HotHidden, "messages hidden by users (sets)"}, {Hot, HotHiddenTo, "channels cleared by users"},
	{Hot, HotReadAll, "channels read with their threads"}, {Hot, HotThreadReadAll, "threads with marks that were read with their channel"},
	{Hot, HotSettings, "lines and labels"}, {Receipts, 0, "blocks of receipts"}, {Index, 0, "message index"}, {Log, 0, "log blocks"},
}

// KindOf returns the index of the record's kind in Kinds, or -1.
func KindOf(key []byte) int {
	var hot byte
	if n := bytes.IndexByte(key, 0); key[0] == Hot && n >= 0 && n+1 < len(key) {
		hot = key[n+1]
	}
	for i, k := range Kinds {
		if k.top == key[0] && k.hot == hot {
			return i
		}
	}
	return -1
}
