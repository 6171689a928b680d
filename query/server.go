package query

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// NewServer is an HTTP server for h with the bounds that a public port needs: headers within 5 s and 64 KiB, idle
// connections for 2 minutes, peers that stopped answering found by pings. It speaks HTTP/1.1 and HTTP/2, without TLS
// too (gRPC clients and other nodes want that).
//
// There is no WriteTimeout, which would end every watch: streams set a deadline for each message, and calls are bounded
// in themselves.
func NewServer(h http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           h,
		Protocols:         &protocols,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 1000,
			SendPingTimeout:      30 * time.Second,
			PingTimeout:          15 * time.Second,
			WriteByteTimeout:     30 * time.Second,
		},
	}
}

// CheckListen refuses an address that others than this machine can reach, unless insecure says that this is meant: no
// keys are configured, so whoever reaches the port may read and publish in the name of every user.
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
