package gateway

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/internal/test/script/random"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// TestRandomVectorsOfLargeChannels: devices connect to a gateway, and reconnect, while the
// partition folds random scripts with all of DESIGN §4.7. The gateway derives the counts of large
// channels, or asks the owner for them. However messages, deltas, channel records, inboxes and
// answers interleave, the gateway ends with the model's state. So do the clients of JavaScript, Go
// and Python, for each channel and thread, in totals, and by label.
func TestRandomVectorsOfLargeChannels(t *testing.T) {
	var vectors []jsVector
	property := func(name string) func(*rapid.T, *random.Case) {
		return func(t *rapid.T, c *random.Case) {
			c.Settings.FanoutLimit = rapid.SampledFrom([]uint32{0, 1, 2, 3}).Draw(t, "fan-out limit")
			vectors = append(vectors, named(name, c, drivenVectors(t, c))...)
		}
	}
	parts := random.Folded()
	t.Run("small", func(t *testing.T) { random.Scripts(t, 600, random.DrawMore(parts...), property(t.Name())) })
	t.Run("crowds", func(t *testing.T) { random.Scripts(t, 40, random.DrawCrowdMore(parts...), property(t.Name())) })
	if t.Failed() {
		return
	}
	large := 0
	for i := range vectors {
		large += len(vectors[i].Large)
	}
	if len(vectors) < 100 || large < 100 {
		t.Fatalf("only %d users with %d large channels", len(vectors), large)
	}
	compareInNode(t, vectors)
	compareInGo(t, vectors)
	compareInPython(t, vectors)
}

// drivenVectors folds a script and delivers it to a gateway in any order.
func drivenVectors(t *rapid.T, c *random.Case) (list []jsVector) {
	p, err := projections.Open("store", projections.Identity{Partitions: 1, Settings: c.Settings}, projections.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	m, d := model.New(c.Settings), drive(p)
	order := c.Log.Interleave(func(left []events.Input) int { return rapid.IntRange(0, len(left)-1).Draw(t, "order") })
	for _, r := range order {
		r.AddTo(m)
	}
	users := m.Users()
	if len(users) > 5 { // a crowd: of its mostly idle users only a few
		users = append(users[:3:3], users[len(users)-2:]...)
	}
	for _, user := range users {
		d.devices = append(d.devices, &drivenDevice{user: user})
	}
	for i := range order {
		d.fold(t, &order[i])
		if rapid.IntRange(0, 3).Draw(t, "drained") == 0 {
			d.drain(t)
		}
		for range rapid.IntRange(0, 4).Draw(t, "happens") {
			d.happens(t)
		}
	}
	for _, dev := range d.devices {
		if dev.c == nil {
			d.connect(dev)
		}
	}
	d.drain(t)
	d.settle(t)
	for _, dev := range d.devices {
		d.check(t, m, dev)
		list = append(list, d.vector(t, &c.Log, m, dev))
	}
	return list
}

// happens performs a random action.
func (d *driven) happens(t *rapid.T) {
	if len(d.devices) == 0 {
		return
	}
	dev := d.devices[rapid.IntRange(0, len(d.devices)-1).Draw(t, "device")]
	switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
	case what <= drivenTopics:
		d.step(t, what)
	case what == 4 && (dev.c == nil || rapid.IntRange(0, 9).Draw(t, "again") == 0):
		d.connect(dev)
	case what == 5:
		d.write(dev)
	default: // topics usually keep up
		d.step(t, what%(drivenTopics+1))
		d.step(t, drivenTopics+1+slices.Index(d.devices, dev))
	}
}

// check compares the gateway's state of a user with the model.
func (d *driven) check(t *rapid.T, m *model.Model, dev *drivenDevice) {
	u := dev.c.user
	right := listedBy(t, u, checker.Right([]*model.Model{m}, dev.user, script.Start, false))
	for id, e := range u.entries {
		_, is := right.Channels[id]
		if _, there := m.Channel(id); e.ch != nil && !is && there { // users who join a deleted channel get nothing about it
			t.Fatalf("%s is no member of %s", dev.user, id)
		}
	}
	for id, c := range right.Channels {
		e := u.entries[id]
		if e == nil || e.ch == nil {
			t.Fatalf("%s is a member of %s", dev.user, id)
		}
		v := &e.view
		got := fmt.Sprint(v.Unread, v.Mentions, v.Direct, v.Epoch, v.Latest.Seq, v.Flagged(), v.Archived, v.Level)
		want := fmt.Sprint(c.Unread, c.Mentions, c.DirectMentions, c.ReadEpoch, c.Latest.Seq, c.Flagged, c.Archived, c.Levels.Level)
		if got != want && !isOpen(m, dev.user, id) {
			t.Fatalf("of %s in %s the gateway has unread, mentions, by name, epoch, latest, flagged, archived, level\n%s, want\n%s", dev.user, id, got, want)
		}
	}
}

// isOpen reports whether an open time target moves a user's pointer in a large channel. Until it
// closes, no delta has the new pointer.
func isOpen(m *model.Model, user, channel string) bool {
	v, _ := m.View(user, channel)
	return v.Large && m.OpenInTime(user, channel, "")
}

// vector returns a device's frames, and the result that a client must have.
func (d *driven) vector(t *rapid.T, l *script.Log, m *model.Model, dev *drivenDevice) jsVector {
	v := vectorOf(t, l, m, dev.c)
	v.Frames, v.Inbox, v.Marks = dev.frames, true, nil
	for _, id := range slices.Sorted(maps.Keys(v.Channels)) {
		if is, _ := m.View(dev.user, id); !is.Large {
			continue
		}
		v.Large = append(v.Large, id)
		if isOpen(m, dev.user, id) {
			v.Open = append(v.Open, id)
		}
	}
	return v
}

// compareInGo compares with the Go client, which is a module of its own.
func compareInGo(t *testing.T, vectors []jsVector) {
	t.Helper()
	readAll(t, "../client/*.go")
	program := filepath.Join(t.TempDir(), "vectors.test")
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, testkit.Program(t, "go"), "test", "-c", "-tags=vectors", "-o", program, ".") //nolint:gosec // the program is Go
	build.Dir = "../client"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	compared(t, "Go", vectors, program, "-test.run=^TestRandomVectors$")
}
