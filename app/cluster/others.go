package cluster

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"slices"
)

// Others returns a function with the URLs of nodes that are no members of the group, for an Asker.
// The host of an http URL may be a name with many addresses, such as that of a headless Service:
// then each address is a node. An https URL stays as it is, because certificates are valid for
// names.
func Others(urls []string, lookup func(ctx context.Context, host string) ([]string, error)) func(context.Context) []string {
	return func(ctx context.Context) (list []string) {
		for _, raw := range urls {
			list = append(list, addresses(ctx, raw, lookup)...)
		}
		return list
	}
}

// addresses returns a URL for each address of the host of raw, or raw itself if there are not
// several.
func addresses(ctx context.Context, raw string, lookup func(context.Context, string) ([]string, error)) []string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" || net.ParseIP(u.Hostname()) != nil {
		return []string{raw}
	}
	found, err := lookup(ctx, u.Hostname())
	if err != nil || len(found) < 2 { // a name that is unknown fails when it is asked, and is listed with the reason
		return []string{raw}
	}
	slices.Sort(found)
	list := make([]string, 0, len(found))
	for _, ip := range slices.Compact(found) {
		at := *u
		at.Host = net.JoinHostPort(ip, cmp.Or(u.Port(), "80"))
		list = append(list, at.String())
	}
	return list
}
