package query

import (
	"context"
	"net/http"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/query/internal/fault"
)

// judge determines whether another node sent a request, and for whom, before its body is read.
func (f *front) judge(r *http.Request, m *method) (*http.Request, error) {
	judged, err := f.peers.Accept(r, m.maxBody)
	if err != nil {
		f.doubted.Warn("a call was refused: it claims to come from a node, without proof", "from", r.RemoteAddr, "err", err, "request_id", obs.RequestID(r.Context()))
		return r, fault.Unauthenticated(err.Error())
	}
	return judged, nil
}

// bearer returns the caller: the identity that a node states, or that of a token.
func (f *front) bearer(ctx context.Context, h http.Header) (auth.Identity, error) {
	if id, known := auth.IdentityOf(ctx); known {
		return id, nil
	}
	token, ok := auth.Bearer(h)
	if !ok {
		return auth.Identity{}, fault.Unauthenticated("no token: send it as Authorization: Bearer")
	}
	id, err := f.auth.verifier.Verify(ctx, token)
	if err != nil {
		f.log.DebugContext(ctx, "a token was refused", "err", err)
		return auth.Identity{}, fault.Unauthenticated("the token is not valid")
	}
	return id, nil
}
