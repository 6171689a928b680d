package edge

import (
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
)

// hostAllowed checks the Host of a request to a node without keys. A site can make its own name
// point to this node (DNS rebinding), and then a browser treats the node's answers as that site's.
// So only known names are allowed. A name without a dot belongs to no site. A request without a
// Host does not come from a browser.
func (s *Server) hostAllowed(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.Trim(r.Host, "[]")
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case host == "", host == "localhost", strings.HasSuffix(host, ".localhost"):
		return true
	case net.ParseIP(strings.Split(host, "%")[0]) != nil: // also with a zone
		return true
	case slices.ContainsFunc(s.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, host) }):
		return true
	}
	return !strings.Contains(host, ".") && !fromLoopback(r)
}

// fromLoopback reports whether a request reached a loopback address of this machine, which no other
// machine can reach.
func fromLoopback(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, is := local.(*net.TCPAddr)
	return is && tcp.IP.IsLoopback()
}

// refuseHost answers with the way out, in the form of the query API's errors.
func refuseHost(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_ = json.NewEncoder(w).Encode(struct { // the caller may be gone
		Code    string `json:"code"`
		Message string `json:"message"`
	}{"permission_denied", unknownHost})
}

const unknownHost = "this node has no keys, so it answers at an IP address, at localhost and at the names of --hosts only: " +
	"another name could be one that a page of another site has made up"
