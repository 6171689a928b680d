// Package crossorigin lets pages of other origins call the query API: it answers their browsers'
// preflights, and marks answers that such a page may read (CORS).
package crossorigin

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"connectrpc.com/cors"
	rscors "github.com/rs/cors"

	"github.com/tidemark/tidemark/internal/obs"
)

// services is the common beginning of the paths of all calls.
const services = "/tidemark."

// preflightAge is how long a browser may keep the answer to a preflight. Chrome keeps it for two
// hours at most.
const preflightAge = 2 * time.Hour

// Config names the pages that may call.
type Config struct {
	// Origins are the allowed origins of pages, exactly as browsers send them
	// (https://chat.example.com).
	Origins []string
	// Loopback also admits pages of this machine, on any port.
	Loopback bool
}

// Handler wraps a handler of Connect, gRPC-Web and JSON. Pages of other origins get an answer
// without the headers of CORS, so their browser withholds it from them. Cookies are not allowed,
// because no code here reads one. Paths other than calls of services are not affected. Without any
// origin, Handler returns h.
func Handler(c Config, h http.Handler) http.Handler {
	if len(c.Origins) == 0 && !c.Loopback {
		return h
	}
	calls := rscors.New(rscors.Options{
		AllowOriginFunc: c.allows,
		AllowedMethods:  cors.AllowedMethods(),
		AllowedHeaders:  append(cors.AllowedHeaders(), "Authorization", obs.RequestIDHeader),
		ExposedHeaders:  append(cors.ExposedHeaders(), "Retry-After", obs.RequestIDHeader),
		MaxAge:          int(preflightAge.Seconds()),
	}).Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, services) {
			calls.ServeHTTP(w, r)
		} else {
			h.ServeHTTP(w, r)
		}
	})
}

func (c Config) allows(origin string) bool {
	if slices.Contains(c.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || !c.Loopback || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	host := u.Hostname()
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host).IsLoopback()
}
