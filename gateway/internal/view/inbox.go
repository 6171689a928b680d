package view

import "github.com/tidemark/tidemark/gateway/internal/frames"

// Inbox encodes an inbox up to the totals, in the order of the query service: unread first, newest
// first. It leaves out channels beyond the limit. The totals include those, and their changes are
// sent like all others.
func Inbox(channels, threads []*View, limit int, previews bool) []byte {
	b := frames.Begin(make([]byte, 0, 512+320*min(len(channels)+len(threads), 2500)), "inbox")
	truncated := false
	list := func(name string, views []*View) {
		b = append(frames.Key(b, name), '[')
		for i, v := range views {
			if len(b) > limit {
				truncated = true
				break
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(v.Append(append(b, '{'), previews), '}')
		}
		b = append(b, ']')
	}
	list("channels", channels)
	list("threads", threads)
	if truncated {
		b = frames.Bool(b, "truncated", true)
	}
	return b
}
