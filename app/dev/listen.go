package dev

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// nextPorts is how many ports after a used one are tried before any free port.
const nextPorts = 20

// listen opens a port. Its error is one sentence that names the flag for another port.
func (c *Config) listen(flag, addr string) (net.Listener, error) {
	var ln net.Listener
	err := c.open(flag, addr, func(addr string) (err error) {
		ln, err = net.Listen("tcp", addr)
		return err
	})
	return ln, err
}

// open calls try with an address until its port is free. If Config.Movable has the flag, it
// continues with the next ports and in the end with any free one; otherwise it tries only addr.
func (c *Config) open(flag, addr string, try func(addr string) error) error {
	err := try(addr)
	if err == nil {
		return nil
	}
	if host, port, ok := split(addr); ok && c.Movable[flag] {
		for i := 1; inUse(err) && i <= nextPorts+1; i++ {
			next := port + i
			if i > nextPorts || next > 65535 {
				next = 0
			}
			err = try(net.JoinHostPort(host, strconv.Itoa(next)))
		}
	}
	if err != nil {
		return portError(flag, addr, err)
	}
	return nil
}

func split(addr string) (host string, port int, ok bool) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, false
	}
	port, err = strconv.Atoi(p)
	return host, port, err == nil
}

func inUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

func portError(flag, addr string, err error) error {
	if inUse(err) {
		return fmt.Errorf("%s is in use by another program: stop that one, or name another address with %s", addr, flag)
	}
	return fmt.Errorf("cannot listen on %s (%w): name another address with %s", addr, err, flag)
}
