package recheck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/tidemark/tidemark/projections"
)

// seen is a node's answers about a channel.
type seen struct {
	id      string
	cold    bool // it left memory, so its store has what was compared before, and nothing is compared
	there   bool
	channel projections.ChannelView
	users   []*projections.View // of some of its members
}

// here reports whether the partition is still live here. The caller holds RLock, so this does not
// change meanwhile.
func (r *round) here() bool {
	now, err := r.cfg.Node.Live(r.n)
	return err == nil && now == r.live
}

// read calls fn under the read lock, and reports whether the partition is still live here; if not,
// it does not call fn. A panic of fn reaches the caller with the lock released.
func (r *round) read(fn func()) bool {
	r.live.RLock()
	defer r.live.RUnlock()
	if !r.here() {
		return false
	}
	fn()
	return true
}

// look records the node's answers, all as of one position. It returns nil if the partition is no
// longer live here.
func (r *round) look(ctx context.Context) ([]seen, projections.Position, error) {
	users, err := r.members(ctx)
	if err != nil {
		return nil, projections.Position{}, err
	}
	all := make([]seen, len(r.channels))
	var at projections.Position
	var views *projections.Views
	if !r.read(func() { at, views = r.view(all, users) }) {
		return nil, at, nil
	}
	if err := views.End(ctx); err != nil {
		return nil, at, err
	}
	return all, at, nil
}

// view records the node's answers. The read lock is held.
func (r *round) view(all []seen, users [][]string) (_ projections.Position, views *projections.Views) {
	defer r.live.TimeHold("a check")()
	views = r.live.BeginViews()
	noted := false
	defer func() {
		if !noted { // fn panics
			views.Drop()
		}
	}()
	for i, id := range r.channels {
		all[i].id = id
		if all[i].cold = r.live.IsCold(id); all[i].cold {
			continue
		}
		all[i].channel, all[i].there = r.live.Channel(id)
		for _, u := range users[i] {
			if v, ok := views.View(u, id); ok {
				all[i].users = append(all[i].users, v)
			}
		}
	}
	noted = true
	return r.live.Position(), views
}

// members returns some members of each channel, beginning at a random one.
func (r *round) members(ctx context.Context) ([][]string, error) {
	users := make([][]string, len(r.channels))
	for i, id := range r.channels {
		memory := projections.NewReadersMemory(maxUsers)
		var walk *projections.ReadersWalk
		here := r.read(func() {
			v, ok := r.live.Channel(id)
			if !ok {
				return
			}
			first := uint32(0)
			if v.MemberCount > maxUsers {
				first = rand.N(v.MemberCount - maxUsers + 1)
			}
			walk, _ = r.live.BeginReaders(id, first, memory) // last, because from here on the walk must be ended
		})
		if !here {
			return users, nil // look notices this as well
		}
		if walk == nil {
			continue
		}
		page, err := walk.End(ctx)
		if err != nil {
			return nil, err
		}
		for _, one := range page.List {
			users[i] = append(users[i], one.UserID)
		}
	}
	return users, nil
}

// difference is one difference between two answers.
type difference struct{ user, field, is, want string }

// compare compares with the answers of a derived partition, and returns the first difference.
func (s *seen) compare(derived *projections.Partition) (difference, bool) {
	derived.RLock()
	defer derived.RUnlock()
	if s.cold {
		return difference{}, false
	}
	channel, there := derived.Channel(s.id)
	if there != s.there {
		return difference{field: "whether the channel is there", is: fmt.Sprint(s.there), want: fmt.Sprint(there)}, true
	}
	if d, found := differ(s.channel, channel); found {
		return d, true
	}
	for _, v := range s.users {
		want, _ := derived.View(v.UserID, s.id)
		if d, found := differ(*v, want); found {
			d.user = v.UserID
			return d, true
		}
	}
	return difference{}, false
}

// differ returns the first field in which two answers differ. It returns no values of fields with
// the text of a message.
func differ(is, want any) (difference, bool) {
	a, b := reflect.ValueOf(is), reflect.ValueOf(want)
	for i := range a.NumField() {
		x, y := a.Field(i).Interface(), b.Field(i).Interface()
		if same(x, y) {
			continue
		}
		d := difference{field: a.Type().Field(i).Name, is: fmt.Sprint(x), want: fmt.Sprint(y)}
		if h, ok := x.(projections.Head); ok {
			g := y.(projections.Head) //nolint:forcetypeassert // it is the same field
			d.is, d.want = fmt.Sprintf("seq %d", h.Seq), fmt.Sprintf("seq %d", g.Seq)
		}
		return d, true
	}
	return difference{}, false
}

// same is reflect.DeepEqual, but an empty list equals a missing one.
func same(x, y any) bool {
	a, b := reflect.ValueOf(x), reflect.ValueOf(y)
	if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(x, y)
}
