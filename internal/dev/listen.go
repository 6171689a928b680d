package dev

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listen opens a port. Its error is one sentence that names the flag for another port.
func listen(flag, addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err == nil {
		return ln, nil
	}
	return nil, portError(flag, addr, err)
}

func portError(flag, addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another program: stop that one, or name another address with %s", addr, flag)
	}
	return fmt.Errorf("cannot listen on %s (%w): name another address with %s", addr, err, flag)
}
