package importer

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// million is a channel that a million users have joined.
type million struct{}

func (million) Events(_ context.Context, _ *Problems, emit func(Origin, *Event) error) error {
	for i := range 1_000_000 {
		if err := emit(Origin{"members", int64(i + 1)}, &Event{Kind: KindMember, Channel: "all", User: fmt.Sprint("u", i), At: epoch + int64(i%7)}); err != nil {
			return err
		}
	}
	for i := range 3 {
		if err := emit(Origin{"posts", int64(i + 1)}, &Event{Kind: KindPost, Channel: "all", ID: fmt.Sprint("m", i), User: "u0", At: epoch + int64(10+i)}); err != nil {
			return err
		}
	}
	return nil
}

// joined counts the members that an import writes.
type joined struct {
	members, largest, posts int
	late                    bool // a member came after a message
}

func (j *joined) write(_ []byte, in events.Input, _ string, value []byte, _ int64) error {
	if in != events.Messages {
		return nil
	}
	var e eventsv1.MessageEvent
	if err := proto.Unmarshal(value, &e); err != nil {
		return err
	}
	n := len(e.GetMembersJoined().GetUserIds())
	j.members, j.largest, j.late = j.members+n, max(j.largest, len(value)), j.late || n > 0 && j.posts > 0
	if e.GetMessagePosted() != nil {
		j.posts++
	}
	return nil
}

// An import writes a channel of a million members in events that each fit into a record, with
// little memory.
func TestAMillionMembers(t *testing.T) {
	if testing.Short() {
		t.Skip("a million rows")
	}
	p := newPlan(t.TempDir(), 0, epoch+hour, &Problems{})
	defer p.close()
	out := &joined{}
	p.sink = out
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := p.run(context.Background(), &Config{Progress: func(Progress) {}}, million{}, nil); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if out.members != 1_000_000 || out.posts != 3 || out.late || out.largest > events.MaxValueBytes {
		t.Errorf("%+v", out)
	}
	if kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20; kept > 200 {
		t.Errorf("%d MiB stay in memory", kept)
	}
}
