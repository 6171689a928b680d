package sequence

import "github.com/tidemark/tidemark/gateway/internal/frames"

// Frame returns the frame message.new, with the message's text only if previews is set.
func (p *Message) Frame(channelID string, previews bool) []byte {
	b := frames.Begin(make([]byte, 0, 256), "message.new")
	b = frames.Text(b, "channel_id", channelID)
	b = frames.Text(b, "message_id", p.ID)
	b = frames.Number(b, "seq", uint64(p.Seq))
	b = frames.Text(b, "sender_id", p.Sender)
	if previews {
		b = frames.Text(b, "preview", p.Preview)
	}
	b = frames.Instant(b, "at", p.At)
	return append(frames.TextIf(b, "thread_id", p.Thread), '}')
}
