package swarm

import (
	"strconv"
	"time"

	"github.com/tidemark/tidemark/app/bench/gauge"
)

// Order is one line of the input of Run.
type Order struct {
	// Connect lists the users to connect, AtOnce of them at a time. Each waits for their inbox and
	// stays, or leaves if Leave is set.
	Connect []string `json:"connect,omitempty"`
	Addr    string   `json:"addr,omitempty"`
	AtOnce  int      `json:"at_once,omitempty"`
	Leave   bool     `json:"leave,omitempty"`
	// From is the number of loopback addresses that users come from in turn; 0: all from the same
	// one. With From set, users ignore Retry-After, because a web page cannot read it, and wait as
	// the JavaScript client does.
	From int `json:"from,omitempty"`
	// Drop breaks all connections without a close frame.
	Drop bool `json:"drop,omitempty"`
	// Reset sets the counts to 0 after the answer.
	Reset bool `json:"reset,omitempty"`
}

// Answer is one line of the output of Run: the result of an order, and the counts so far.
type Answer struct {
	Error string `json:"error,omitempty"` // of the order as a whole
	// The result of Connect: users with an inbox; attempts that were refused for now and repeated;
	// users without an inbox, and the error of the first; the seconds until all were done; and the
	// time of each user from dialing to inbox.
	Connected int          `json:"connected,omitempty"`
	Later     int          `json:"later,omitempty"`
	Failed    int          `json:"failed,omitempty"`
	Why       string       `json:"why,omitempty"`
	Seconds   float64      `json:"seconds,omitempty"`
	Inbox     gauge.Spread `json:"inbox"`

	Open     int          `json:"open"`     // connections
	Broken   int64        `json:"broken"`   // connections that ended for other reasons than Drop, since the start
	Messages int64        `json:"messages"` // frames message.new
	Frames   int64        `json:"frames"`   // of all kinds
	Bytes    int64        `json:"bytes"`
	Latency  gauge.Spread `json:"latency"` // from the production of a message (its id has the time) to its frame
	CPU      int64        `json:"cpu_us"`  // of this process, since its start
}

// MessageID returns the id of the n-th message, with the time of its production for Answer.Latency.
func MessageID(at time.Time, n int) string {
	return "t" + strconv.FormatInt(at.UnixNano(), 10) + "-" + strconv.Itoa(n)
}
