package checker

import (
	"context"
	"fmt"

	"github.com/tidemark/tidemark/cache"
)

// cachedThreads compares the threads of a user in Redis with those that the model says he follows, listed or not.
func cachedThreads(ctx context.Context, tr *Log, reader *cache.Reader, user string, f *Findings) {
	entries, err := reader.Threads(ctx, user)
	if err != nil {
		f.Add("inbox-threads:%s: %v", user, err)
		return
	}
	in := map[string]*cache.Entry{}
	for i := range entries {
		in[cache.ThreadField(entries[i].ChannelID, entries[i].ThreadID)] = &entries[i]
	}
	for _, channel := range tr.Channels() {
		m := tr.Model(channel)
		for _, thread := range m.Threads(channel) {
			now, ok := seen(m, user, channel, thread)
			field := cache.ThreadField(channel, thread)
			e := in[field]
			delete(in, field)
			switch {
			case ok && now.Member != (e != nil):
				f.Add("inbox-threads:%s: %s in %s: in Redis %v, followed %v", user, thread, channel, e != nil, now.Member)
			case e == nil:
			case !ok:
				f.Add("inbox-threads:%s: %s in %s, which is no channel", user, thread, channel)
			default:
				got := fmt.Sprint(e.Unread, e.Mentions, e.FirstUnreadID, e.LastReadSeq, e.LatestSeq, e.ReadEpoch)
				if m.OpenInTime(user, channel, thread) { // the pointer moves without a delta
					now.LastRead.Seq = e.LastReadSeq
				}
				want := fmt.Sprint(now.Unread, now.Mentions, now.FirstUnread.MessageID, now.LastRead.Seq, now.Latest.Seq, now.ReadEpoch)
				if got != want || !now.Stamp.Dominates(e.Stamp) {
					f.Add("inbox-threads:%s: %s in %s: is %s at %v, want %s at %v", user, thread, channel, got, e.Stamp, want, now.Stamp)
				}
			}
		}
	}
	for field := range in {
		f.Add("inbox-threads:%s: has %q, which is no thread", user, field)
	}
}
