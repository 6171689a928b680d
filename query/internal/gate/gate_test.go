package gate

import (
	"slices"
	"testing"

	"github.com/tidemark/tidemark/internal/limit"
)

// Users and addresses have their own slots. The addresses of an IPv6 network share theirs, a stream
// takes no slot, and a call that ends frees its slot.
func TestCallsUnderWay(t *testing.T) {
	g := New(Limits{UserConcurrency: 1, AddressConcurrency: 2}.WithDefaults(), 1, 1)
	enter := func(why string, in func(string, bool) (func(), *Refusal), key string, stream bool) func() {
		t.Helper()
		leave, refused := in(key, stream)
		switch {
		case refused == nil && why != "":
			t.Errorf("%s is let in", key)
		case refused != nil && (refused.Reason != why || refused.Err == nil || refused.Wait <= 0 || !slices.Contains(Reasons, refused.Reason)):
			t.Errorf("%s: %+v, want %q", key, refused, why)
		}
		return leave
	}
	for _, c := range []struct {
		in                func(string, bool) (func(), *Refusal)
		why               string
		slots             int
		same, sameAs, too string
	}{
		{g.User, userConcurrency, 1, "ann", "ann", "bob"},
		{g.Address, addressConcurrency, 2, "192.0.2.1:1000", "192.0.2.1:2000", "192.0.2.2:1000"},
		{g.Address, addressConcurrency, 2, "[2001:db8::1]:1000", "[2001:db8::ffff]:2000", "[2001:db8:0:1::1]:1000"},
	} {
		var leave []func()
		for range c.slots {
			leave = append(leave, enter("", c.in, c.same, false))
		}
		enter(c.why, c.in, c.sameAs, false)
		enter("", c.in, c.sameAs, true)()
		enter("", c.in, c.too, false)()
		leave[0]()
		enter("", c.in, c.sameAs, false)()
		for _, f := range leave[1:] {
			f()
		}
	}
}

// The zero value limits only memory, which is enough for one body of each kind.
func TestNoLimits(t *testing.T) {
	g := New(Limits{Bodies: 1}.WithDefaults(), 10, 20)
	for range 1000 {
		if _, refused := g.User("ann", false); refused != nil {
			t.Fatal(refused.Err)
		}
		if _, refused := g.Address("192.0.2.1:1000", false); refused != nil {
			t.Fatal(refused.Err)
		}
	}
	for what, b := range map[string]*limit.Bytes{"queries": g.Queries, "events": g.Events} {
		release, ok := b.Acquire(t.Context(), 10)
		if !ok {
			t.Fatalf("no memory for %s", what)
		}
		release()
	}
}

// The refusal of a call beyond a rate states when to retry.
func TestRates(t *testing.T) {
	g := New(Limits{UserRate: 0.001, UserBurst: 2, AddressRate: 0.001, AddressBurst: 1}.WithDefaults(), 1, 1)
	for _, c := range []struct {
		in    func(string, bool) (func(), *Refusal)
		why   string
		burst int
	}{{g.User, userRate, 2}, {g.Address, addressRate, 1}} {
		for range c.burst {
			if _, refused := c.in("ann", true); refused != nil {
				t.Error(refused.Err)
			}
		}
		if _, refused := c.in("ann", true); refused == nil || refused.Reason != c.why || refused.Wait <= 0 {
			t.Errorf("%+v, want %s and a time to wait", refused, c.why)
		}
	}
}
