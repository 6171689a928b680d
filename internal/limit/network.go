package limit

import "net/netip"

// Network returns the key by which an address (http.Request.RemoteAddr) is limited: an IPv4
// address, or the 64 bits of an IPv6 network, because one host usually has a whole /64.
func Network(remote string) string {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	ip := from.Addr().Unmap().WithZone("")
	if ip.Is6() {
		return netip.PrefixFrom(ip, 64).Masked().String()
	}
	return ip.String()
}
