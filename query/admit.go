package query

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/limit"
	"github.com/tidemark/tidemark/query/internal/body"
	"github.com/tidemark/tidemark/query/internal/fault"
)

// Limits bound what callers of a node may cost. Calls that another node forwards, which proves that
// it is one, are not counted again.
type Limits struct {
	// UserRate is how many calls a second a user's token may make, UserBurst how many at once,
	// UserConcurrency how many may be under way. WatchUnread counts as one call of the rate
	// (Config.MaxWatchesPerUser bounds how many are open). 0 = no limit. Tokens with scopes, and
	// callers of a node without keys, are bound by their address alone.
	UserRate        float64
	UserBurst       int
	UserConcurrency int
	// AddressRate is how many calls a second one address may make, with or without a valid token,
	// AddressBurst how many at once. Of IPv6 the network of 64 bits counts. 0 = no limit.
	AddressRate  float64
	AddressBurst int
	// Bodies is how many bytes of memory the bodies of requests may take together. Events have
	// three quarters of it, queries the rest. 0 = 128 MiB.
	Bodies int64
	// Waits is how many calls may wait for their `after` at once. 0 = 2,048.
	Waits int
}

func (l Limits) withDefaults() Limits {
	if l.Bodies == 0 {
		l.Bodies = 128 << 20
	}
	if l.Waits == 0 {
		l.Waits = 2048
	}
	return l
}

// guards are Limits at work.
type guards struct {
	userRate, addressRate *limit.Rates
	userCalls             *limit.Slots
	queries, events       *limit.Bytes
}

func newGuards(l Limits) *guards {
	events := max(l.Bodies*3/4, body.Cost*maxIngestBody)
	return &guards{
		userRate: limit.NewRates(l.UserRate, l.UserBurst, nil), addressRate: limit.NewRates(l.AddressRate, l.AddressBurst, nil),
		userCalls: limit.NewSlots(l.UserConcurrency),
		events:    limit.NewBytes(events, body.Wait), queries: limit.NewBytes(max(l.Bodies-events, body.Cost*maxQueryBody), body.Wait),
	}
}

// admit judges a call by its headers, before anything of its body is read: who asks, whether they
// ask too often, and whether there is memory for what they send. release gives back what the call
// holds. If it returns an error, the request has the caller's identity as far as it is known.
func (f *front) admit(m *method, r *http.Request) (_ *http.Request, release func(), err error) {
	r, err = f.judge(r, m)
	if err != nil {
		f.metrics.refused.WithLabelValues(refusedToken).Inc()
		return r, nil, err
	}
	ctx, user := r.Context(), ""
	peer := auth.FromPeer(ctx)
	if !peer {
		if wait, ok := f.guards.addressRate.Allow(limit.Network(r.RemoteAddr)); !ok {
			return r, nil, f.tooMany(refusedAddressRate, wait, errAddressRate)
		}
	}
	if f.auth.verifier != nil {
		id, err := f.bearer(ctx, r.Header)
		if err != nil {
			f.metrics.refused.WithLabelValues(refusedToken).Inc()
			return r, nil, err
		}
		ctx = auth.WithIdentity(ctx, id)
		r = r.WithContext(ctx)
		if m.scopes != 0 && id.Scopes&m.scopes == 0 {
			return r, nil, errNotYours(m.scopes)
		}
		if id.Scopes == 0 && !peer {
			user = id.Subject
		}
	}
	if user != "" {
		if wait, ok := f.guards.userRate.Allow(user); !ok {
			return r, nil, f.tooMany(refusedUserRate, wait, errUserRate)
		}
		if !m.stream && !f.guards.userCalls.Acquire(user) {
			return r, nil, f.tooMany(refusedUserConcurrency, fault.RetryAfter, errUserConcurrency)
		}
	}
	release = func() {
		if user != "" && !m.stream {
			f.guards.userCalls.Release(user)
		}
	}
	share := f.guards.queries
	if m.maxBody == maxIngestBody {
		share = f.guards.events
	}
	metered := body.New(ctx, r, share, m.maxBody, func() error { return f.tooMany(refusedBodies, fault.RetryAfter, fault.ErrOverloaded) })
	if m.stream { // it lasts, and its request is small once it is decoded
		ctx = context.WithValue(ctx, decodedKey{}, metered.Release)
	}
	before := release
	release = func() { metered.Release(); before() }
	r = r.WithContext(ctx)
	r.Body = metered
	return r, release, nil
}

// decodedKey finds what a stream calls once its request is decoded, in its context.
type decodedKey struct{}

// tooMany refuses a call for a while, and counts it.
func (f *front) tooMany(reason string, wait time.Duration, why error) error {
	f.metrics.refused.WithLabelValues(reason).Inc()
	return fault.ExhaustedFor(wait, why)
}

var (
	errAddressRate     = errors.New("this address makes too many calls: wait a little")
	errUserRate        = errors.New("this user makes too many calls: wait a little")
	errWaits           = errors.New("after: as many calls wait on this node as may: send the call again, or ask another node")
	errUserConcurrency = errors.New("this user has as many calls under way as one may have: wait for an answer")
)
