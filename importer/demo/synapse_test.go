package demo

import (
	"flag"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/chats"
)

var update = flag.Bool("update", false, "write synapse.sql")

// synapseStory returns a server on which Synapse's known defects occur, and other cases in which it
// counts in its own way on purpose. Each user has one of these.
func synapseStory() string {
	const room, fun, quiet, dm, lost, night = "!general:here", "!fun:here", "!quiet:here", "!ann-bob:here", "!lost:here", "!night:here"
	user := func(name string) string { return "@" + name + ":here" }
	s := chats.NewSynapse(synapseBegin)
	say := func(room, name string, m chats.Message) string {
		m.Body = "text"
		return s.Send(room, user(name), m)
	}
	s.Mute(user("gus"), "override", room, "[]")
	s.Mute(user("hal"), "room", room, `["dont_notify"]`)
	s.Unmute(user("hal"), "room", room)
	var all []string
	for _, name := range []string{"zoe", "ann", "bob", "cem", "dee", "eve", "fay", "gus", "hal", "jon"} {
		all = append(all, user(name))
	}
	s.Room(room, all...)
	first := say(room, "zoe", chats.Message{})
	for _, u := range all {
		s.Read("m.read", u, first)
	}
	oops := say(room, "zoe", chats.Message{})
	say(room, "zoe", chats.Message{Mentions: []string{user("cem")}})
	s.Room(lost, user("zoe"), user("cem"))
	seen := say(lost, "zoe", chats.Message{})
	say(lost, "zoe", chats.Message{})
	s.Rotate()
	s.Sweep()
	s.Redact(user("zoe"), oops)         // it was summed up, so all numbers keep it
	s.Read("m.read", user("cem"), seen) // Synapse cannot count again what it summed up and removed

	say(room, "zoe", chats.Message{Type: "m.notice"})
	root := say(room, "zoe", chats.Message{})
	s.Read("m.read.private", user("ann"), root)
	s.Read("m.read", user("bob"), root)
	say(room, "bob", chats.Message{Thread: root})
	reply := say(room, "zoe", chats.Message{Thread: root})
	say(room, "zoe", chats.Message{Thread: root})
	s.Read("m.read", user("bob"), reply, root)
	s.Read("m.read", user("dee"), root, "main")
	s.Read("m.read", user("eve"), reply)
	s.Read("m.read", user("fay"), reply)
	s.Send(room, user("zoe"), chats.Message{Edits: first, Mentions: []string{user("fay")}, Body: "for fay"})
	s.Membership(room, user("jon"), "leave")

	s.Room(fun, user("zoe"), user("ann"))
	for _, kind := range []string{"m.sticker", "m.room.message", "m.poll.start"} {
		say(fun, "zoe", chats.Message{Kind: kind})
	}
	s.Room(quiet, user("zoe"), user("ann"), user("bob")) // nobody sends receipts here
	say(quiet, "zoe", chats.Message{})
	s.Rotate()
	s.Membership(quiet, user("ann"), "join") // a new name: Synapse counts from there
	say(quiet, "bob", chats.Message{})
	s.Room(dm, user("ann"))
	s.Invite(dm, user("ann"), user("bob"))
	s.Direct(user("ann"), dm)
	say(dm, "ann", chats.Message{})
	s.Membership(dm, user("bob"), "join")
	say(dm, "ann", chats.Message{Kind: "m.room.encrypted"})
	s.Room(night, user("zoe"), user("dee"))
	s.Mute(user("dee"), "override", night, "[]")
	say(night, "zoe", chats.Message{})
	say(night, "zoe", chats.Message{})
	s.Unmute(user("dee"), "override", night)
	say(night, "zoe", chats.Message{})
	s.Send(room, user("zoe"), chats.Message{Edits: first, Mentions: []string{user("eve")}, Body: "for eve"}) // not summed up
	return s.SQL()
}

// synapse.sql has the rows of the story. All times in it move with the clock, and nothing else
// does.
func TestSynapseSQL(t *testing.T) {
	story := "-- A Synapse server with what is known to go wrong in it; `go test ./importer/demo -update` writes it.\n" + synapseStory()
	if *update {
		if err := os.WriteFile("synapse.sql", []byte(story), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if story != synapseSQL {
		t.Error("synapse.sql is not what the story makes: `go test ./importer/demo -update` writes it")
	}
	other := SQL("synapse", time.UnixMilli(synapseBegin).Add(10*24*time.Hour+time.Hour))
	if got := regexp.MustCompile(`\b10000\d{8}\b`).ReplaceAllString(other, "then"); got != synapseTime.ReplaceAllString(story, "then") {
		t.Error("other numbers than times have moved")
	}
	if first := synapseTime.FindString(other); first <= synapseTime.FindString(story) {
		t.Errorf("the first time is %s", first)
	}
}
