package compare

import (
	"context"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/importer"
)

// rowsOf is a product with events instead of rows, and with numbers.
type rowsOf struct {
	events []importer.Event
	counts []importer.Count
}

func (r *rowsOf) Events(_ context.Context, _ *importer.Problems, emit func(importer.Origin, *importer.Event) error) error {
	for i, e := range r.events {
		if err := emit(importer.Origin{Table: "rows", Row: int64(i + 1)}, &e); err != nil {
			return err
		}
	}
	return nil
}

func (r *rowsOf) Counts(_ context.Context, users []string, _ *importer.Problems, emit func(importer.Count) error) error {
	for _, n := range r.counts {
		if len(users) > 0 && !slices.Contains(users, n.User) {
			continue
		}
		if err := emit(n); err != nil {
			return err
		}
	}
	return nil
}

// recounted counts the rows of pairs.
func recounted(ctx context.Context, source importer.Product, pairs []Pair, now int64) (map[Pair]*Recount, error) {
	r, err := newRecount(ctx, source, pairs, now)
	if err != nil {
		return nil, err
	}
	all := map[Pair]*Recount{}
	for _, p := range pairs {
		all[p] = r.of(p)
	}
	return all, nil
}

const second = 1000

// at returns a time in Unix milliseconds.
func at(n int64) int64 { return 1_700_000_000_000 + n*second }

// general has a channel with every cause why a message does not count.
func general() []importer.Event {
	return []importer.Event{
		{Kind: importer.KindChannel, Channel: "c"},
		{Kind: importer.KindMember, Channel: "c", User: "ann", At: at(0)},
		{Kind: importer.KindMember, Channel: "c", User: "bob", At: at(0)},
		{Kind: importer.KindMember, Channel: "c", User: "cem", At: at(25)},
		{Kind: importer.KindMember, Channel: "c", User: "dee", At: at(0), Until: at(50)},
		{Kind: importer.KindMember, Channel: "c", User: "eve", At: at(0), Until: at(5)},
		{Kind: importer.KindMember, Channel: "c", User: "eve", At: at(35)},
		{Kind: importer.KindPointer, Channel: "c", User: "ann", At: at(10)},
		{Kind: importer.KindPointer, Channel: "c", User: "eve", ID: "gone"},
		{Kind: importer.KindPointer, Channel: "c", User: "fay", ID: "m2"},
		{Kind: importer.KindPointer, Channel: "c", User: "gus", Seq: 3},
		{Kind: importer.KindPost, Channel: "c", ID: "m1", User: "bob", At: at(10)},
		{Kind: importer.KindPost, Channel: "c", ID: "m2", User: "bob", At: at(20), Mentions: []string{"ann"}},
		{Kind: importer.KindPost, Channel: "c", ID: "m3", User: "ann", At: at(21)},
		{Kind: importer.KindPost, Channel: "c", ID: "m4", User: "bob", At: at(30), Until: at(31)},
		{Kind: importer.KindPost, Channel: "c", ID: "m5", User: "bob", At: at(32), Silent: true},
		{Kind: importer.KindPost, Channel: "c", ID: "r1", User: "ann", At: at(33), Thread: "m2"},
		{Kind: importer.KindPost, Channel: "c", ID: "r2", User: "cem", At: at(34), Thread: "m2", MentionAll: true},
		{Kind: importer.KindPost, Channel: "c", ID: "m6", User: "cem", At: at(40), MentionAll: true},
		{Kind: importer.KindPost, Channel: "c", ID: "m6", User: "cem", At: at(40), MentionAll: true},
	}
}

// Recount counts the rows of a source as Tidemark does.
func TestRecount(t *testing.T) {
	for p, want := range map[Pair]struct {
		unread, mentions int64
		excluded         Excluded
		left             bool
	}{
		{"ann", "c", ""}:   {2, 2, Excluded{Own: 1, Deleted: 1, Silent: 1, Reply: 2}, false},
		{"bob", "c", ""}:   {1, 1, Excluded{Silent: 1, Reply: 2, Posted: 1}, false}, // their own post has read everything before it, deleted or not
		{"cem", "c", ""}:   {0, 0, Excluded{}, false},
		{"dee", "c", ""}:   {0, 0, Excluded{}, true},
		{"eve", "c", ""}:   {1, 1, Excluded{BeforeJoin: 3, Deleted: 1, Silent: 1, Reply: 2}, false},
		{"fay", "c", ""}:   {2, 1, Excluded{Deleted: 1, Silent: 1, Reply: 2}, false}, // never a member
		{"gus", "c", ""}:   {1, 1, Excluded{Deleted: 1, Silent: 1, Reply: 2}, false},
		{"bob", "c", "m2"}: {2, 1, Excluded{}, false},
		{"ann", "c", "m2"}: {1, 1, Excluded{}, false},
		{"cem", "c", "m2"}: {0, 0, Excluded{BeforeJoin: 1}, false}, // a reply from before the user followed the thread
		{"eve", "c", "m2"}: {0, 0, Excluded{BeforeJoin: 2}, false}, // joined later, and does not follow the thread
	} {
		got, err := recounted(t.Context(), &rowsOf{events: general()}, []Pair{p}, at(1000))
		if err != nil {
			t.Fatal(err)
		}
		r := got[p]
		if r.Unread != want.unread || r.Mentions != want.mentions || r.Excluded != want.excluded || r.Left != want.left || len(r.Messages) != int(r.Unread) {
			t.Errorf("%v: %+v, want %+v", p, *r, want)
		}
	}
}

// A message whose content is gone makes a number uncertain: that of its author, unless they have a
// pointer, and those of threads.
func TestRecountOfEmptiedMessages(t *testing.T) {
	list := append(general(), importer.Event{Kind: importer.KindPost, Channel: "c", ID: "m7", User: "bob", At: at(41), Until: at(42), Silent: true, Emptied: true})
	for p, want := range map[Pair]bool{
		{"bob", "c", ""}: true, {"cem", "c", ""}: false, {"ann", "c", ""}: false, {"ann", "c", "m2"}: true,
	} {
		got, err := recounted(t.Context(), &rowsOf{events: list}, []Pair{p}, at(1000))
		if err != nil || got[p].Emptied != want {
			t.Errorf("%v: %+v, %v", p, got[p], err)
		}
	}
	list = append(list, importer.Event{Kind: importer.KindPointer, Channel: "c", User: "bob", At: at(10)})
	if got, err := recounted(t.Context(), &rowsOf{events: list}, []Pair{{"bob", "c", ""}}, at(1000)); err != nil || got[Pair{"bob", "c", ""}].Emptied {
		t.Errorf("with a pointer: %+v, %v", got, err)
	}
}

// An explicit follow counts later replies. An unfollow ends all follows.
func TestRecountOfFollows(t *testing.T) {
	follow := importer.Event{Kind: importer.KindFollow, Channel: "c", User: "eve", Thread: "m2", At: at(33)}
	list := general()
	for i := range list {
		if list[i].User == "eve" && list[i].Kind == importer.KindMember {
			list[i].At, list[i].Until = at(0), 0
		}
	}
	for name, c := range map[string]struct {
		more []importer.Event
		want int64
	}{
		"no follow":         {nil, 0},
		"from the follow":   {[]importer.Event{follow}, 1},
		"read in it":        {[]importer.Event{follow, {Kind: importer.KindPointer, Channel: "c", User: "eve", Thread: "m2", At: at(34)}}, 0},
		"unfollowed":        {[]importer.Event{{Kind: importer.KindUnfollow, Channel: "c", User: "eve", Thread: "m2", At: at(90)}}, 0},
		"mentioned earlier": {[]importer.Event{{Kind: importer.KindPost, Channel: "c", ID: "r0", User: "bob", At: at(22), Thread: "m2", Mentions: []string{"eve"}}}, 3},
	} {
		p := Pair{"eve", "c", "m2"}
		got, err := recounted(t.Context(), &rowsOf{events: append(append([]importer.Event{}, list...), c.more...)}, []Pair{p}, at(1000))
		if err != nil || got[p].Unread != c.want {
			t.Errorf("%s: %+v, %v", name, got[p], err)
		}
	}
	root := append(append([]importer.Event{}, list...), follow)
	for i := range root {
		if root[i].ID == "m2" && root[i].Kind == importer.KindPost {
			root[i].Until = at(99)
		}
	}
	if got, err := recounted(t.Context(), &rowsOf{events: root}, []Pair{{"eve", "c", "m2"}}, at(1000)); err != nil || got[Pair{"eve", "c", "m2"}].Unread != 0 {
		t.Errorf("without its root: %+v, %v", got, err)
	}
	direct := general()
	direct[0].Direct = true
	direct = append(direct, importer.Event{Kind: importer.KindChannelDeleted, Channel: "c", At: at(99)})
	p := Pair{"eve", "c", ""}
	got, err := recounted(t.Context(), &rowsOf{events: direct}, []Pair{p}, at(1000))
	if err != nil || got[p].Unread != 4 || !got[p].Ended {
		t.Errorf("a direct channel that is deleted: %+v, %v", got[p], err)
	}
}

// The rows show why a product counts fewer messages, and what it counts in threads that the user
// does not follow.
func TestRecountOfLess(t *testing.T) {
	list := general()
	list[0].Direct = true
	for i := range list {
		list[i].Quiet = list[i].ID == "m6"
		if list[i].User == "eve" && list[i].Kind == importer.KindPointer {
			list[i] = importer.Event{Kind: importer.KindMute, Channel: "c", User: "eve", At: at(1)}
		}
	}
	pair, thread := Pair{"eve", "c", ""}, Pair{"eve", "c", "m2"}
	got, err := recounted(t.Context(), &rowsOf{events: list}, []Pair{pair, thread}, at(1000))
	if err != nil {
		t.Fatal(err)
	}
	if r := got[pair]; r.Unread != 4 || r.Less != (Excluded{Quiet: 1, History: 3, Muted: 4}) {
		t.Errorf("in the channel: %+v", r)
	}
	if r := got[thread]; r.Unread != 0 || r.Excluded != (Excluded{Unfollowed: 2}) {
		t.Errorf("in the thread: %+v", r)
	}
	for _, whole := range []bool{false, true} {
		read := importer.Event{Kind: importer.KindPointer, Channel: "c", User: "eve", At: at(1000), Whole: whole}
		if got, err = recounted(t.Context(), &rowsOf{events: append(list, read)}, []Pair{thread}, at(1000)); err != nil {
			t.Fatal(err)
		}
		if r := got[thread]; whole != (r.Excluded == Excluded{}) {
			t.Errorf("in the thread, the channel read with its threads %v: %+v", whole, r)
		}
	}
	less := Policy{Rules: map[Cause]Rule{Quiet: {ByPolicy, "stickers less"}}}
	e := &Evidence{Known: true, Theirs: with(1, 0), Ours: with(3, 0), Rows: &Recount{Unread: 3, Less: Excluded{Quiet: 2}}}
	if b, reason, ok := less.Judge(e); b != ByPolicy || reason != "2 stickers less" || !ok {
		t.Errorf("%s: %q", b, reason)
	}
	e.Rows.Less[Quiet] = 1
	if b, _, _ := less.Judge(e); b != TheirsWrong {
		t.Errorf("one sticker makes up for two: %s", b)
	}
}

// Messages that were read singly do not count. A pointer may be right before a message. Messages
// that were marked as unread are recognized.
func TestRecountOfSingles(t *testing.T) {
	list := append(general(),
		importer.Event{Kind: importer.KindPointer, Channel: "c", User: "hal", ID: "m2", Before: true},
		importer.Event{Kind: importer.KindMember, Channel: "c", User: "hal", At: at(0)},
		importer.Event{Kind: importer.KindSingle, Channel: "c", User: "hal", ID: "m3", At: at(21)},
		importer.Event{Kind: importer.KindPointer, Channel: "c", User: "ivy", At: at(20), Quiet: true},
		importer.Event{Kind: importer.KindMember, Channel: "c", User: "ivy", At: at(0)},
		importer.Event{Kind: importer.KindPointer, Channel: "c", User: "jon", ID: "m1", Before: true},
		importer.Event{Kind: importer.KindMember, Channel: "c", User: "jon", At: at(0)},
	)
	hal, ivy, jon := Pair{"hal", "c", ""}, Pair{"ivy", "c", ""}, Pair{"jon", "c", ""}
	got, err := recounted(t.Context(), &rowsOf{events: list}, []Pair{hal, ivy, jon}, at(1000))
	if err != nil {
		t.Fatal(err)
	}
	if r := got[hal]; r.Unread != 2 || r.Excluded[ReadSingly] != 1 { // m2 and m6
		t.Errorf("singly: %+v", r)
	}
	if r := got[ivy]; r.Unread != 2 || r.Less[Marked] != 2 { // m3 and m6
		t.Errorf("marked: %+v", r)
	}
	if r := got[jon]; r.Unread != 4 {
		t.Errorf("before the first message: %+v", r)
	}
}

// A number that cannot be compared is reported with the reason, and never as wrong.
func TestIncomparable(t *testing.T) {
	f := &folded{counts: map[Pair]uint32{{"ann", "a", ""}: 3}}
	n := count("ann", "a", "", 9)
	n.Why = "away for weeks"
	if lines, _ := run(t, f, Config{}, &rowsOf{counts: []importer.Count{n}}); !slices.Equal(lines, []string{"ann a: theirs 9, ours 3: not_comparable: away for weeks"}) {
		t.Errorf("%q", lines)
	}
}

// Dee begins to follow a thread by a reply of her own. The earlier replies count in a product that
// waits for a read, and not in Tidemark.
func TestRepliesFromBeforeAFollow(t *testing.T) {
	reply := func(id, user string, n int64) importer.Event {
		return importer.Event{Kind: importer.KindPost, Channel: "c", ID: id, User: user, At: at(n), Thread: "m1"}
	}
	rows := &rowsOf{events: []importer.Event{
		{Kind: importer.KindMember, Channel: "c", User: "dee", At: at(0)},
		{Kind: importer.KindPost, Channel: "c", ID: "m1", User: "cem", At: at(1)},
		reply("r1", "ann", 2), reply("r2", "ann", 3), reply("r3", "dee", 4),
	}}
	pair := Pair{User: "dee", Channel: "c", Thread: "m1"}
	found, err := recounted(t.Context(), rows, []Pair{pair}, at(9))
	if err != nil {
		t.Fatal(err)
	}
	r := found[pair]
	if r.Unread != 0 || r.Excluded[BeforeJoin] != 2 || r.Excluded[Posted] != 0 {
		t.Errorf("%+v", r)
	}
	b, reason, _ := SynapsePolicy.Judge(&Evidence{Theirs: Numbers{Unread: 2}, Known: true, Rows: r})
	if b != ByPolicy {
		t.Errorf("%s: %s", b, reason)
	}
}
