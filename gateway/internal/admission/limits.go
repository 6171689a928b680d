package admission

import (
	"time"

	"github.com/tidemark/tidemark/gateway/internal/bounds"
	"github.com/tidemark/tidemark/gateway/internal/frames"
)

// AppendLimits appends the field limits of a greeting, with what a client has to know.
func AppendLimits(b []byte, l *bounds.Limits) []byte {
	b = append(frames.Key(b, "limits"), '{')
	b = frames.Number(b, "frame_bytes", uint64(l.FrameBytes))
	b = frames.Number(b, "focused", uint64(l.Focused))
	b = frames.Number(b, "message_ids", uint64(l.MessageIDs))
	b = frames.Number(b, "frames_per_second", uint64(l.FramesPerSecond))
	b = frames.Number(b, "frames_burst", uint64(l.FramesBurst))
	b = frames.Number(b, "ping_seconds", uint64(l.PingEvery/time.Second))
	return append(b, '}')
}
