package main

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/query"
)

// doorFlags set which clients may connect to a node's listeners, and how many calls they may make.
type doorFlags struct {
	AdminListen        string   `placeholder:"HOST:PORT" help:"Address for /metrics, /admin/ and profiles (/debug/pprof/), such as 127.0.0.1:9090. --listen then does not serve them."`
	MaxHTTPConnections int      `name:"max-http-connections" placeholder:"N" help:"Limit of open connections at --listen, including sockets; 0 = the limit of open files, less a reserve for Kafka, Redis and files (0)."`
	TrustedProxies     []string `placeholder:"CIDR" help:"Networks of load balancers, such as 10.0.0.0/8, whose X-Forwarded-For or Forwarded names a client's address. All limits by address use it."`
	Hosts              []string `placeholder:"NAME" help:"Without keys: host names, such as tidemark.internal.example.com, under which this node answers, in addition to IP addresses and localhost."`
	QueryRate          float64  `default:"100" placeholder:"N" help:"Calls a second of one user's token; 0 = no limit (${default})."`
	QueryBurst         int      `default:"400" placeholder:"N" help:"Calls at once of one user's token (${default})."`
	QueryConcurrency   int      `default:"32" placeholder:"N" help:"Calls in progress of one user's token; 0 = no limit (${default})."`
	AddressQueryRate   float64  `default:"20000" placeholder:"N" help:"Calls a second from one address, whatever their tokens, and twice as many at once; 0 = no limit (${default})."`

	AddressQueryConcurrency int `default:"4096" placeholder:"N" help:"Calls in progress from one address, whatever their tokens; 0 = no limit (${default})."`
}

// checkDoors checks the flags without using them.
func (f *doorFlags) checkDoors() error {
	if f.QueryRate < 0 || f.QueryBurst < 1 || f.QueryConcurrency < 0 || f.AddressQueryRate < 0 || f.AddressQueryConcurrency < 0 || f.MaxHTTPConnections < 0 {
		return fmt.Errorf("--query-rate, --query-concurrency, --address-query-rate, --address-query-concurrency and --max-http-connections " +
			"cannot be negative, " +
			"and --query-burst is at least 1")
	}
	for _, h := range f.Hosts {
		if h == "" || strings.ContainsAny(h, ":/ ") {
			return fmt.Errorf("--hosts %q: want a name without scheme and port, such as tidemark.internal.example.com", h)
		}
	}
	_, err := f.proxies()
	return err
}

func (f *doorFlags) proxies() (list []netip.Prefix, err error) {
	for _, text := range f.TrustedProxies {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, bad := netip.ParseAddr(text)
			if bad != nil {
				return nil, fmt.Errorf("--trusted-proxies %q: want a network, such as 10.0.0.0/8, or an address", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		list = append(list, p.Masked())
	}
	return list, nil
}

// setDoors applies the flags to c. open is true if the node may listen on an address that everybody
// can reach: with keys, or with --insecure.
func (f *doorFlags) setDoors(c *node.Config, open bool) error {
	proxies, err := f.proxies()
	if err != nil {
		return verbs.Usagef("%v", err)
	}
	c.Edge = edge.Config{MaxConnections: f.MaxHTTPConnections, TrustedProxies: proxies, Hosts: f.Hosts}
	c.Limits = query.Limits{
		UserRate: f.QueryRate, UserBurst: f.QueryBurst, UserConcurrency: f.QueryConcurrency,
		AddressRate: f.AddressQueryRate, AddressBurst: int(2 * f.AddressQueryRate), AddressConcurrency: f.AddressQueryConcurrency,
	}
	if f.AdminListen == "" {
		return nil
	}
	if err := query.CheckListen(f.AdminListen, open); err != nil {
		return verbs.Usagef("--admin-listen: %v", err)
	}
	return nil
}

// openAdmin opens the operators' listener, if there is one.
func (f *doorFlags) openAdmin(c *node.Config) (err error) {
	if f.AdminListen == "" {
		return nil
	}
	if c.AdminListener, err = net.Listen("tcp", f.AdminListen); err != nil {
		return fmt.Errorf("cannot listen on %s (%w): name another address with --admin-listen", f.AdminListen, err)
	}
	return nil
}
