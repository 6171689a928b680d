// Package client is a Go program's way to Tidemark: it writes events to a node and asks it, watches
// a user's counts, and is a device at a gateway. It is a module of its own with one dependency, a
// WebSocket. Package cached beside it reads Redis without a node, and needs go-redis.
//
//	c, err := client.New(client.Config{URL: "http://127.0.0.1:8080"})
//	after, err := c.Post(ctx, "general", client.MessagePosted{MessageID: "m1", SenderID: "bob"})
//	u, err := c.Unread(ctx, "ann", "general", after...)
//
// Files: client.go has Client and how it asks, calls.go its reads, writes.go its writes; event.go,
// messages.go, reads.go and deliveries.go have what can be written, answers.go what is answered.
// watch.go is a stream of a user's counts. device.go keeps a device connected and socket.go is a connection of it, watched by watchdog.go, with inbox.go for what it
// knows, commands.go and outbox.go for what it says, pace.go and backoff.go for how fast.
package client
