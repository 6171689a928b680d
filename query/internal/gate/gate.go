package gate

import (
	"github.com/tidemark/tidemark/internal/limit"
	"github.com/tidemark/tidemark/query/internal/body"
	"github.com/tidemark/tidemark/query/internal/fault"
)

// Gate lets calls in as far as Limits allow. It is safe for concurrent use.
type Gate struct {
	// Queries and Events are the memory for the bodies of queries, and of events to publish.
	Queries, Events *limit.Bytes

	userRate, addressRate   *limit.Rates
	userCalls, addressCalls *limit.Slots
}

// New makes a gate with room for at least one body of each kind, of so many bytes at most.
func New(l Limits, query, events int64) *Gate {
	ofEvents := max(l.Bodies*3/4, body.Cost*events)
	return &Gate{
		Events: limit.NewBytes(ofEvents, body.Wait), Queries: limit.NewBytes(max(l.Bodies-ofEvents, body.Cost*query), body.Wait),
		userRate: limit.NewRates(l.UserRate, l.UserBurst, nil), addressRate: limit.NewRates(l.AddressRate, l.AddressBurst, nil),
		userCalls: limit.NewSlots(l.UserConcurrency), addressCalls: limit.NewSlots(l.AddressConcurrency),
	}
}

// Address lets in a call from an address (http.Request.RemoteAddr), or says why not. leave lets the
// call out, once. A stream lasts and is not counted among the calls under way.
func (g *Gate) Address(remote string, stream bool) (leave func(), refused *Refusal) {
	key := limit.Network(remote)
	if wait, ok := g.addressRate.Allow(key); !ok {
		return nil, &Refusal{addressRate, wait, errAddressRate}
	}
	if leave = enter(g.addressCalls, key, stream); leave == nil {
		return nil, &Refusal{addressConcurrency, fault.RetryAfter, errAddressConcurrency}
	}
	return leave, nil
}

// User lets in a call with a user's token, as Address does.
func (g *Gate) User(user string, stream bool) (leave func(), refused *Refusal) {
	if wait, ok := g.userRate.Allow(user); !ok {
		return nil, &Refusal{userRate, wait, errUserRate}
	}
	if leave = enter(g.userCalls, user, stream); leave == nil {
		return nil, &Refusal{userConcurrency, fault.RetryAfter, errUserConcurrency}
	}
	return leave, nil
}

// enter counts a call under way until leave. leave is nil if there are as many as may be.
func enter(calls *limit.Slots, key string, stream bool) (leave func()) {
	if stream {
		return func() {}
	}
	if !calls.Acquire(key) {
		return nil
	}
	return func() { calls.Release(key) }
}
