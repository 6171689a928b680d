package checker

import (
	"context"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/projections"
)

// cachedThreads compares the threads of a user in Redis with those that they follow in the model,
// listed or not.
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
				got, want := cachedThread(e), Thread{Counts: countsOf(&now), Place: placeOf(&now), open: m.OpenInTime(user, channel, thread)}.asCached()
				if e.Stamp.FoldVersion < 2 {
					want.DirectMentions, want.FirstMention = 0, projections.Ref{}
				}
				if diff := got.differs(want, m.Ends()); diff != "" || !now.Stamp.Dominates(e.Stamp) {
					f.Add("inbox-threads:%s: %s in %s at %v, want %v: %s", user, thread, channel, e.Stamp, now.Stamp, diff)
				}
			}
		}
	}
	for field := range in {
		f.Add("inbox-threads:%s: has %q, which is no thread", user, field)
	}
}
