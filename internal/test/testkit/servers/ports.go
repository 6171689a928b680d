package servers

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are drawn below the ranges that Linux (from 32768) and BSD (from 49152) use for outgoing
// connections. Otherwise a client that reconnects could get the port of a broker that was killed
// and is about to restart.
const (
	firstPort = 15000
	lastPort  = 32000
)

// freePorts returns n different ports of 127.0.0.1 that nobody listens on. Another process may take
// one before it is used, which servers notice at their start (errPortTaken).
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for try := 0; try < 1000 && len(ports) < n; try++ {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer l.Close() // kept open until all are found, so that none is found twice
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, fmt.Errorf("found %d free ports of %d between %d and %d on 127.0.0.1", len(ports), n, firstPort, lastPort)
	}
	return ports, nil
}
