package edge

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxProxies bounds how many addresses of a header are read, from its end.
const maxProxies = 32

// fromClient returns r with the client's address as its RemoteAddr (with port 0), if a trusted
// proxy names one: the last address of X-Forwarded-For, or of Forwarded (RFC 7239), that is not
// itself a trusted proxy. A client can have written any address before it. If both headers are
// present, a client has sent one of them, and neither counts.
func fromClient(r *http.Request, trusted []netip.Prefix) *http.Request {
	if len(trusted) == 0 {
		return r
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !contains(trusted, peer.Addr()) {
		return r
	}
	hops := split(r.Header.Values("X-Forwarded-For"), ",")
	if forwarded := r.Header.Values("Forwarded"); len(forwarded) > 0 {
		if len(hops) > 0 {
			return r
		}
		hops = forwardedFor(forwarded)
	}
	client := netip.Addr{}
	for i, hop := range slices.Backward(hops) {
		a, ok := address(hop)
		if !ok || len(hops)-i > maxProxies {
			break
		}
		client = a
		if !contains(trusted, a) {
			break
		}
	}
	if !client.IsValid() {
		return r
	}
	r = r.WithContext(r.Context())
	r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
	return r
}

func contains(list []netip.Prefix, a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// split returns the elements of several list headers.
func split(values []string, sep string) (list []string) {
	for _, v := range values {
		for part := range strings.SplitSeq(v, sep) {
			list = append(list, strings.TrimSpace(part))
		}
	}
	return list
}

// forwardedFor returns the `for` of each element of Forwarded; empty if it has none.
func forwardedFor(values []string) (list []string) {
	for _, element := range split(values, ",") {
		address := ""
		for _, pair := range split([]string{element}, ";") {
			if name, value, ok := strings.Cut(pair, "="); ok && strings.EqualFold(strings.TrimSpace(name), "for") {
				address = strings.Trim(strings.TrimSpace(value), `"`)
			}
		}
		list = append(list, address)
	}
	return list
}

// address reads 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1] and [2001:db8::1]:80.
func address(text string) (netip.Addr, bool) {
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return a.Unmap(), err == nil
}
