package node

import (
	"context"
	"time"
)

// processorPart names the part that hands over partitions when it ends.
const processorPart = "processor"

// stopMargin is how much longer than its parts a stop may take.
const stopMargin = 2 * time.Second

// drainTimeout bounds how long calls in progress may take when the node stops.
const drainTimeout = 3 * time.Second

// release gives back the resources of New.
func (n *Node) release() {
	n.stop()
	if n.processor != nil && (n.router != nil || !n.ran) {
		closeUnrun(n.processor)
	}
	if n.client != nil {
		n.client.Close()
	}
	if n.sockets != nil {
		_ = n.sockets.Close() // presence expires by itself
	}
	if n.redis != nil {
		_ = n.redis.Close() // its writes are done, or will be repeated
	}
	if n.blocks != nil {
		n.blocks.Unref()
	}
	n.traces.close()
}

// drain closes the listeners, answers the calls in progress, and cuts off those that take longer
// than drainTimeout.
func (n *Node) drain() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	for _, d := range n.doors {
		if err := d.Shutdown(ctx); err != nil {
			n.cfg.Logger.Warn("calls were cut off when the listener closed", "listener", d.name, "err", err)
			_ = d.Close() // the remaining calls are being cut off
		}
	}
}
