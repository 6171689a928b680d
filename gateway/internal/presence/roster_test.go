package presence

import (
	"context"
	"errors"
	"slices"
	"testing"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
)

func ids(list ...string) (out [][]byte) {
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

// Members are requested once and then follow the timeline; events that the answer already includes
// are not applied again.
func TestRosterFollowsTheTimeline(t *testing.T) {
	asked := 0
	r := newRosters(func(_ context.Context, channelID, after string, limit int) ([]string, int64, error) {
		asked++
		switch channelID {
		case "gone":
			return nil, 0, connect.NewError(connect.CodeNotFound, errors.New("no such channel"))
		case "broken":
			return nil, 0, connect.NewError(connect.CodeUnavailable, errors.New("moving"))
		}
		if after != "chat.messages/0/4" || limit != 3 {
			t.Errorf("asked after %q, limit %d", after, limit)
		}
		return []string{"ann", "bob"}, 8, nil
	}, 3)
	is := func(offset int64, want ...string) {
		t.Helper()
		known, err := r.of(t.Context(), "general", 0, offset, "chat.messages/0/4")
		if err != nil || known.large || !slices.Equal(known.users, want) {
			t.Fatalf("%+v, %v; want %v", known, err, want)
		}
	}
	event := func(kind events.Kind, offset int64, users ...string) {
		r.apply(&events.Message{Kind: kind, ChannelID: []byte("general"), IDs: ids(users...)}, offset)
	}
	is(4, "ann", "bob")
	event(events.KindMembersLeft, 7, "bob") // included: bob came back before 8
	is(7, "ann", "bob")
	event(events.KindMembersJoined, 8, "cleo", "ann")
	is(9, "ann", "bob", "cleo")
	event(events.KindMembersLeft, 9, "ann")
	is(10, "bob", "cleo")
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	event(events.KindMembersJoined, 10, "d", "e")
	if known, _ := r.of(t.Context(), "general", 0, 11, ""); !known.large || known.users != nil {
		t.Errorf("4 members where 3 is the limit: %+v", known)
	}
	event(events.KindMembersLeft, 11, "d") // requested again: the channel may be small now
	is(12, "ann", "bob")
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	event(events.KindChannelDeleted, 13)
	is(14)
	if known, err := r.of(t.Context(), "gone", 0, 1, ""); err != nil || len(known.users) != 0 {
		t.Errorf("a channel that does not exist: %+v, %v", known, err)
	}
	if _, err := r.of(t.Context(), "broken", 0, 1, ""); err == nil {
		t.Error("an owner that does not answer was taken for a channel without members")
	}
}

// The number of remembered rosters is limited.
func TestRostersAreBounded(t *testing.T) {
	r := newRosters(func(context.Context, string, string, int) ([]string, int64, error) { return nil, 1, nil }, 3)
	for i := range maxRosters + 10 {
		if _, err := r.of(t.Context(), string(rune(i+100)), 0, 0, ""); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.all); n > maxRosters || n < maxRosters/2 {
		t.Errorf("%d rosters", n)
	}
}
