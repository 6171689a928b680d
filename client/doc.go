// Package client connects a Go program to Tidemark. It writes events to a node, queries it, watches
// a user's counts, and acts as a device at a gateway. It is a module of its own whose only
// dependency is a WebSocket library. Package cached reads Redis without a node, and needs go-redis.
//
//	c, err := client.New(client.Config{URL: "http://127.0.0.1:8080"})
//	after, err := c.Post(ctx, "general", client.MessagePosted{MessageID: "m1", SenderID: "bob"})
//	u, err := c.Unread(ctx, "ann", "general", after...)
//
// Files: client.go has Client and its calls, calls.go the queries, writes.go the writes. event.go,
// messages.go, reads.go and deliveries.go have the events, answers.go the answers. watch.go streams
// a user's counts. device.go keeps a device connected. socket.go is one connection, which
// watchdog.go probes; inbox.go is the device's state, commands.go and outbox.go send its commands,
// and pace.go and backoff.go limit how fast.
package client
