package cluster

import (
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/peer"
)

// PathSelf is the path of a node's own report.
const PathSelf = "/v1/node"

// Handler serves a node's report to other nodes and to operators: with keys to tokens of scope
// admin. verifier is nil without keys.
func Handler(report func() Report, proof *peer.Proof, verifier *auth.Verifier, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		accepted, err := proof.Accept(r, 0)
		if err != nil {
			refuse(w, http.StatusUnauthorized, "unauthenticated", err.Error())
			return
		}
		if !auth.FromPeer(accepted.Context()) {
			if _, no := auth.Operator(verifier, r, auth.ScopeAdmin); no != nil {
				if no.Err != nil {
					log.DebugContext(r.Context(), "a token was refused", "err", no.Err)
				}
				if no.Status == http.StatusUnauthorized {
					w.Header().Set("WWW-Authenticate", "Bearer")
				}
				refuse(w, no.Status, no.Code, no.Message)
				return
			}
		}
		_ = json.NewEncoder(w).Encode(report()) // the caller may be gone
	})
}

// failure is an error in the form of the query API.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(failure{code, message}) // the caller may be gone
}
