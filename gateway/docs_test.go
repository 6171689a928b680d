package gateway_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/docs"
)

// varying are fields whose values vary, so the test compares only their names.
var varying = []string{"instance_id", "request_id", "at", "last_read_at", "stamp", "after", "evaluated_at"}

// same compares a frame with the frame in the document.
func same(got, want any, path string) string {
	if list, isList := want.([]any); isList {
		items, _ := got.([]any)
		if len(items) != len(list) {
			return fmt.Sprintf("%s has %d items, the document says %d", path, len(items), len(list))
		}
		for i := range list {
			if why := same(items[i], list[i], fmt.Sprintf("%s[%d]", path, i)); why != "" {
				return why
			}
		}
		return ""
	}
	w, isObject := want.(map[string]any)
	if !isObject {
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			return path + " is " + string(a) + ", the document says " + string(b)
		}
		return ""
	}
	g, _ := got.(map[string]any)
	for name := range g {
		if _, there := w[name]; !there {
			return path + "." + name + " is not in the document"
		}
	}
	for name, v := range w {
		if _, there := g[name]; !there {
			return path + "." + name + " is missing"
		}
		if slices.Contains(varying, name) {
			continue
		}
		if why := same(g[name], v, path+"."+name); why != "" {
			return why
		}
	}
	return ""
}

// The gateway sends and answers the frames of the conversation in docs/gateway.md as they are.
func TestTheDocumentsConversation(t *testing.T) {
	doc, err := os.ReadFile("../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(doc), "```frames\n")[1:]
	if len(blocks) < 4 {
		t.Fatalf("%d blocks of frames", len(blocks))
	}
	s := start(t, dev.Config{Partitions: 1})
	emit(t, s.URL, joined("general", "ann", "bob"))
	watch := dialed(t, s.URL, "bob")
	if !strings.Contains(string(mustJSON(watch.seen)), "general") {
		watch.until("unread.updated", "general") // the fold has the channel
	}
	c := dial(t, s.URL+"/v1/socket?user_id=ann", nil)
	for i, block := range blocks {
		if i == 1 {
			emit(t, s.URL, posted("general", "m1", "bob"))
		}
		from, synced := c.read, false
		for line := range strings.Lines(strings.SplitN(block, "```", 2)[0]) {
			direction, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			if direction == "->" {
				c.send("%s", text)
				synced = synced || strings.Contains(text, `"type":"sync"`)
				continue
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			kind, _ := want["type"].(string)
			c.read = from // the order within a block may differ
			if strings.HasPrefix(kind, "receipt.") {
				c.read = 0 // they are published at their own time
			}
			c.until(kind, "", func(f frame) bool {
				// An update that an earlier block caused may come late.
				return want["id"] == f["id"] && (kind != "unread.updated" || same(map[string]any(f), want, kind) == "")
			})
			if why := same(map[string]any(c.seen[c.read-1]), want, kind); why != "" {
				t.Errorf("%s: %s; it was %s", text, why, mustJSON(c.seen[c.read-1]))
			}
		}
		if synced { // the next block's changes are in updates, not in the requested inbox
			c.read = from
			c.until("inbox", "")
		}
		c.read = len(c.seen)
	}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// The gateway accepts the frames that docs/gateway.md shows outside of the conversation: it answers
// each once the frame has an id.
func TestTheDocumentsOtherFrames(t *testing.T) {
	page, err := os.ReadFile("../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := docs.Of(docs.Blocks("docs/gateway.md", string(page)), "json")
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of frames", len(blocks))
	}
	s := start(t, dev.Config{Partitions: 1, Verifier: authtest.Verifier(t), Gateway: gateway.Config{OwnAccount: func() error { return nil }}})
	c := dial(t, s.URL+"/v1/socket", nil)
	c.answers(strings.ReplaceAll(blocks[0], "<token>", authtest.Token(t, "ann", time.Hour)), 1)
	s = start(t, dev.Config{Partitions: 1})
	folded(t, s.URL, "ann", "general", joined("general", "ann"))
	dialed(t, s.URL, "ann").answers(blocks[1], 6)
}

// answers sends the frames of a block, each with an id, and waits for the acceptance of all of
// them.
func (c *client) answers(block string, want int) {
	c.t.Helper()
	sent := 0
	for line := range strings.Lines(block) {
		text, is := strings.CutPrefix(strings.TrimSpace(line), "-> {")
		if !is {
			c.t.Fatalf("no frame to the gateway: %s", line)
		}
		sent++
		id := fmt.Sprint("x", sent)
		c.send(`{"id":%q,%s`, id, text)
		answer := c.next()
		for answer["id"] != id {
			answer = c.next()
		}
		if answer["type"] != "ack" {
			c.t.Errorf("%s is answered by %s", line, mustJSON(answer))
		}
	}
	if sent != want {
		c.t.Errorf("the block has %d frames, want %d", sent, want)
	}
}
