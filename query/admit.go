package query

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/trace"
	"github.com/tidemark/tidemark/query/internal/body"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/gate"
)

// Limits limit the costs of a node's callers.
type Limits = gate.Limits

// admit judges a call by its headers, before its body is read: who calls, whether they call too
// often, and whether there is memory for the body. release frees the resources of the call. If
// admit returns an error, the returned request has the caller's identity as far as it is known.
func (f *front) admit(m *method, r *http.Request) (_ *http.Request, release func(), err error) {
	r, err = f.judge(r, m)
	if err != nil {
		f.metrics.refused.WithLabelValues(refusedToken).Inc()
		return r, nil, err
	}
	var leave []func()
	leaveAll := func() {
		for _, f := range slices.Backward(leave) {
			f()
		}
	}
	admitted := false
	defer func() {
		if !admitted { // refused, or a panic
			leaveAll()
		}
	}()
	ctx, user := r.Context(), ""
	peer := auth.FromPeer(ctx)
	if !peer {
		out, refused := f.gate.Address(r.RemoteAddr, m.stream)
		if refused != nil {
			return r, nil, f.tooMany(refused)
		}
		leave = append(leave, out)
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
			r.Header.Del(trace.Header) // users do not decide what is recorded
		}
	}
	if user != "" {
		out, refused := f.gate.User(user, m.stream)
		if refused != nil {
			return r, nil, f.tooMany(refused)
		}
		leave = append(leave, out)
	}
	share := f.gate.Queries
	if m.maxBody == maxIngestBody {
		share = f.gate.Events
	}
	metered := body.New(ctx, r, share, m.maxBody, func() error {
		return f.tooMany(&gate.Refusal{Reason: refusedBodies, Wait: fault.RetryAfter, Err: fault.ErrOverloaded})
	})
	if m.stream { // a stream lasts long, and its request is small once decoded
		ctx = context.WithValue(ctx, decodedKey{}, metered.Release)
	}
	leave = append(leave, metered.Release)
	r = r.WithContext(ctx)
	r.Body = metered
	admitted = true
	return r, leaveAll, nil
}

// decodedKey is the context key of the function that a stream calls once its request is decoded.
type decodedKey struct{}

// tooMany refuses a call temporarily, and counts it.
func (f *front) tooMany(r *gate.Refusal) error {
	f.metrics.refused.WithLabelValues(r.Reason).Inc()
	return fault.ExhaustedFor(r.Wait, r.Err)
}

var errWaits = errors.New("after: too many calls wait on this node: send the call again, or ask another node")
