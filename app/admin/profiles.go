package admin

import (
	"net/http"
	"net/http/pprof" //nolint:gosec // no server uses http.DefaultServeMux, to which it adds handlers
)

// pathProfiles is the path of the profiles.
const pathProfiles = "/debug/pprof/"

// Profiles serves /debug/pprof/ to the callers that a Handler accepts. It needs a listener of its
// own.
func Profiles(c Config) http.Handler {
	h := &handler{c}
	mux := http.NewServeMux()
	mux.HandleFunc(pathProfiles, pprof.Index)
	mux.HandleFunc(pathProfiles+"cmdline", pprof.Cmdline)
	mux.HandleFunc(pathProfiles+"profile", pprof.Profile)
	mux.HandleFunc(pathProfiles+"symbol", pprof.Symbol)
	mux.HandleFunc(pathProfiles+"trace", pprof.Trace)
	return h.audited(mux, http.NewCrossOriginProtection().Handler(h.guard(mux)))
}
