// Package gateway is the WebSocket gateway of DESIGN §10: a socket for each device, with live
// counts, read pointers, messages and receipts. docs/gateway.md has every frame.
//
// The packages below do not depend on Gateway:
//
//	internal/bounds      limits of the costs of one client
//	internal/view        the view of a channel or thread, and its text in a frame
//	internal/sequence    assigning seqs to messages of chat.messages
//	internal/frames      the text of frames, in and out
//	internal/interest    the shards that have a channel
//	internal/sliced      long work that releases a shard's lock now and then
//	internal/reads       events from frames of clients
//	internal/receipts    receipts that wait for the next frame
//	internal/skips       log lines about records that the feed skips
//	internal/wire        a device's socket, its queue, and the order of writes
//	internal/admission   who may connect; internal/shown: whether clients show the right badge
//	internal/presence    users with a socket at any gateway, and messages queued for others
//
// The parts of a gateway:
//
//	config.go       its configuration
//	gateway.go      its parts, and its life from New to the end of Run
//	ready.go        readiness
//	queries.go      queries to the owners of partitions
//	metrics.go      metrics
//	panic.go        the consequences of a panic
//
// Records from Kafka, on their way to the devices:
//
//	feed.go         reading the output topics and chat.messages; a gap begins a new session
//	delta.go        applying deltas to a user's channels and threads
//	channel.go      sending a channel's messages once they have seqs
//	receipts.go     sending receipts
//	listed.go       threads that are too old for the panel
//	membership.go   the message from which on a user is a member
//	answers.go      owners' answers about counts that cannot be derived
//	derive.go       the counts of large channels, and labels, from the channel's record
//	ask.go          questions about counts that cannot be derived
//
// A device's life:
//
//	handler.go         from the handshake to the end of the connection
//	snapshot.go        reading its inbox from the owners
//	install.go         making the inbox the user's state
//	install_frame.go   sending the inbox, and changes during the reading
//
// Frames from devices:
//
//	command.go     the frames of clients
//	readers.go     read_state, which an owner answers
//	autoread.go    reads for users who have a channel focused
//	pointers.go    a user's pointers, and their reads that are on the way
//	delivered.go   reporting deliveries
//	produce.go     writing events to Kafka
//
// The data of all of these. These files call no file above them:
//
//	updates.go     frames with a user's counts and pointers, and levels with an end
//	loads.go       fresh inboxes
//	positions.go   positions of answers
//	user.go        a user, with their channels and threads, and the sums of these
//	conn.go        a device of a user
//	hub.go         the shards of users, each with its lock
//
// Users are spread over hubs, each with one lock for its users and their channels. Records are
// decoded before the lock is taken, and frames are encoded after, by the connection that writes
// first. Sockets are written from their queues by a few goroutines, which exist only while there is
// something to write.
//
// The gateway has no rules of the fold. It forwards folded values and adds them up.
package gateway
