package query

import (
	"fmt"
	"net"
)

// CheckListen refuses an address that other machines can reach, unless insecure states that this is
// intended: without keys, anyone who reaches the port may read and publish in the name of every
// user.
func CheckListen(addr string, insecure bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return fmt.Errorf("listen address %q: want host:port, such as 127.0.0.1:8080", addr)
	}
	if insecure || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listen address %q can be reached from other machines, and without keys everyone there may read and "+
		"publish as any user: listen on 127.0.0.1:%s, or say --insecure", addr, port)
}
