package gateway

import (
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/view"
)

// threadListed is how long a thread is listed after it was touched, in log time (DESIGN §4.4), in
// milliseconds.
const threadListed = int64(30 * 24 * time.Hour / time.Millisecond)

// expired reports whether the thread of a delta is too old for the panel: the delta may be of a
// read or a mark that moved nothing, or of a change to its channel. Owners leave such threads out
// of their answers, by the log time of the partition. The gateway derives a lower bound of that log
// time from the messages that it has read, and before the first of them from the newest one in an
// inbox. So it may list a thread for longer than the owner does, but never for less long. Devices
// get no update when a thread only ages; it disappears with its next delta or the next inbox.
func (g *Gateway) expired(d *events.UnreadDelta) bool {
	p := events.PartitionOf(d.ChannelID, g.cfg.Partitions)
	g.logTimes[p].Note(d.Latest.At)
	return d.Member && !g.cfg.ThreadsAlways && g.logTimes[p].Load()-d.TouchedAt > threadListed
}

// passTimeOf updates the log time from the newest message of a channel or thread.
func (g *Gateway) passTimeOf(v *view.View) {
	if v.Latest.Seq > 0 {
		g.logTimes[events.PartitionOf([]byte(v.Channel), g.cfg.Partitions)].Note(v.Latest.At)
	}
}
