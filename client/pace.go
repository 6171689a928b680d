package client

import (
	"math/rand/v2"
	"time"
)

// One device uses these shares of the rate that a gateway allows a user.
const (
	rateShare  = 0.8
	burstShare = 0.5
	// hold is the longest pause after a refusal.
	hold = time.Second
)

// pace determines when the next frame may be sent. It is a token bucket like the gateway's bucket
// for each user, but smaller, because the user's other devices share the gateway's. A refusal
// empties this bucket and halves its rate, which grows again with each accepted frame.
type pace struct {
	full, rate   float64 // tokens a second
	most, tokens float64
	at, held     time.Time
	now          func() time.Time
}

func newPace() *pace {
	p := &pace{full: 50 * rateShare, rate: 50 * rateShare, most: 200 * burstShare, tokens: 200 * burstShare, now: time.Now}
	p.at = p.now()
	return p
}

// limits are the limits in a gateway's hello.
type limits struct {
	FrameBytes      int     `json:"frame_bytes"`
	MessageIDs      int     `json:"message_ids"`
	FramesPerSecond float64 `json:"frames_per_second"`
	FramesBurst     float64 `json:"frames_burst"`
}

// allow takes over the limits of a gateway. A missing limit stays as it was.
func (p *pace) allow(l limits) {
	if l.FramesPerSecond > 0 && l.FramesPerSecond*rateShare != p.full {
		p.full = l.FramesPerSecond * rateShare
		p.rate = p.full
	}
	if l.FramesBurst > 0 {
		most := max(1, float64(int(l.FramesBurst*burstShare)))
		if p.tokens == p.most {
			p.tokens = most
		}
		p.tokens, p.most = min(p.tokens, most), most
	}
}

// wait returns how long until there is a token; 0: there is one.
func (p *pace) wait() time.Duration {
	now := p.now()
	p.tokens = min(p.most, p.tokens+now.Sub(p.at).Seconds()*p.rate)
	p.at = now
	if now.Before(p.held) {
		return p.held.Sub(now)
	}
	if p.tokens >= 1 {
		return 0
	}
	return time.Duration((1-p.tokens)/p.rate*float64(time.Second)) + time.Millisecond
}

// take takes a token.
func (p *pace) take() { p.tokens-- }

// refused records that the gateway refused a frame for its rate. Refusals during the hold are
// ignored, because those frames were already sent.
func (p *pace) refused() {
	now := p.now()
	if now.Before(p.held) {
		return
	}
	p.tokens, p.at = 0, now
	p.rate = max(p.full/64, p.rate/2)
	p.held = now.Add(hold/2 + rand.N(hold/2)) //nolint:gosec // it spreads devices, and is no secret
}

func (p *pace) accepted() { p.rate = min(p.full, p.rate+p.full/100) }
