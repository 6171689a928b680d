package gateway

import (
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// threadListed is how long a thread is listed after it was touched, in log time (DESIGN §4.4), in
// milliseconds.
const threadListed = int64(30 * 24 * time.Hour / time.Millisecond)

// expired reports whether a thread is too old for the panel, of which a delta tells: of a read or a
// mark that moved nothing, say, or of a change to its channel. Owners leave it out of their
// answers, by the log time of its partition. The gateway knows that from the messages that it has
// seen, and before the first of them from the newest that an inbox has shown. So it may list a
// thread for longer than the owner does, but never lists one for less long. Time that passes tells
// no device anything: the thread goes with its next delta, or with the next inbox.
func (g *Gateway) expired(d *events.UnreadDelta) bool {
	p := events.PartitionOf(d.ChannelID, g.cfg.Partitions)
	g.logTimes[p].Note(d.Latest.At)
	return d.Member && !g.cfg.ThreadsAlways && g.logTimes[p].Load()-d.TouchedAt > threadListed
}

// passTimeOf notes what the newest message of a channel or thread says of the log time.
func (g *Gateway) passTimeOf(v *view.View) {
	if v.Latest.Seq > 0 {
		g.logTimes[events.PartitionOf([]byte(v.Channel), g.cfg.Partitions)].Note(v.Latest.At)
	}
}
