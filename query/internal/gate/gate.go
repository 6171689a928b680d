package gate

import (
	"github.com/tidemark/tidemark/internal/limit"
	"github.com/tidemark/tidemark/query/internal/body"
	"github.com/tidemark/tidemark/query/internal/fault"
)

// Gate admits calls within Limits. It is safe for concurrent use.
type Gate struct {
	// Queries and Events are the memory for the bodies of queries, and of published events.
	Queries, Events *limit.Bytes

	userRate, addressRate   *limit.Rates
	userCalls, addressCalls *limit.Slots
}

// New creates a gate with memory for at least one body of each kind with the given maximum sizes.
func New(l Limits, query, events int64) *Gate {
	ofEvents := max(l.Bodies*3/4, body.Cost*events)
	return &Gate{
		Events: limit.NewBytes(ofEvents, body.Wait), Queries: limit.NewBytes(max(l.Bodies-ofEvents, body.Cost*query), body.Wait),
		userRate: limit.NewRates(l.UserRate, l.UserBurst, nil), addressRate: limit.NewRates(l.AddressRate, l.AddressBurst, nil),
		userCalls: limit.NewSlots(l.UserConcurrency), addressCalls: limit.NewSlots(l.AddressConcurrency),
	}
}

// Address admits a call from an address (http.Request.RemoteAddr), or returns why not. The caller
// calls leave once at the end. Streams are not counted as concurrent calls.
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

// User admits a call with a user's token, as Address does.
func (g *Gate) User(user string, stream bool) (leave func(), refused *Refusal) {
	if wait, ok := g.userRate.Allow(user); !ok {
		return nil, &Refusal{userRate, wait, errUserRate}
	}
	if leave = enter(g.userCalls, user, stream); leave == nil {
		return nil, &Refusal{userConcurrency, fault.RetryAfter, errUserConcurrency}
	}
	return leave, nil
}

// enter counts a concurrent call until leave. leave is nil if the limit is reached.
func enter(calls *limit.Slots, key string, stream bool) (leave func()) {
	if stream {
		return func() {}
	}
	if !calls.Acquire(key) {
		return nil
	}
	return func() { calls.Release(key) }
}
