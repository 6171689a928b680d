package demo

import "fmt"

// people are the users of the demo. The first ones are in the most channels.
var people = []string{"ann", "bob", "cleo", "dan", "eva", "finn", "gus", "hana", "ivo", "jill", "kai", "lena"}

// guests fill the large channel. They hardly ever post.
const guests = 60

// channel is a channel and its setup.
type channel struct {
	id      string
	members []string
	weight  int  // share of the messages, relative to the other rooms
	direct  bool // a conversation of two, in which history counts from the start
}

// channels are the channels of the demo. "all-hands" has more members than the default fan-out
// limit of 50.
func channels() []channel {
	everybody := append([]string(nil), people...)
	for i := 1; i <= guests; i++ {
		everybody = append(everybody, fmt.Sprintf("guest-%02d", i))
	}
	return []channel{
		{id: "general", members: people, weight: 8},
		{id: "random", members: people[:8], weight: 5},
		{id: "incident-7", members: []string{"ann", "dan", "eva", "kai"}, weight: 5},
		{id: "dm:ann:bob", members: []string{"ann", "bob"}, weight: 3, direct: true},
		{id: "dm:ann:cleo", members: []string{"ann", "cleo"}, weight: 2, direct: true},
		{id: "all-hands", members: everybody, weight: 2},
	}
}

// lines are the texts of the messages.
var lines = []string{
	"good morning", "coffee is ready", "who broke the build?", "on it", "looks good to me", "shipping at four",
	"can somebody review this?", "done, thanks", "the graphs look calm again", "moving this to tomorrow",
	"lunch?", "I left two comments", "restarting node three", "that was a false alarm", "same here",
	"the new numbers are in the sheet", "back in ten minutes", "nice find", "let us talk after the stand-up",
	"rolled back", "latency is down by a third", "where is the runbook?", "found it", "happy birthday!",
}
