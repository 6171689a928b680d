// Package gateway is the WebSocket gateway of DESIGN §10: a socket for each device, with live
// counts, read pointers, messages and receipts. docs/gateway.md has every frame.
//
// Below it are packages that know no Gateway:
//
//	internal/bounds      what one client can cost at most
//	internal/view        what a user sees of a channel or thread, and its text in a frame
//	internal/sequence    which seq a message of chat.messages has got
//	internal/frames      the text of frames, in and out
//	internal/interest    which shards of users have which channel
//	internal/reads       the events that frames of clients become
//	internal/receipts    who has read or got a message, until a frame tells it
//	internal/wire        a device's socket: what waits for it, and which one writes next
//	internal/admission   who may connect; internal/shown: whether clients show what they were told
//	internal/presence    who has a socket at any gateway, and what is queued for the others
//
// What a gateway is:
//
//	config.go       its configuration
//	gateway.go      its parts, and its life from New to the end of Run
//	ready.go        whether sockets are served
//	queries.go      what it reads from the owners of partitions
//	metrics.go      what it counts
//	panic.go        what a panic ends
//
// What comes from Kafka, on its way to the devices:
//
//	feed.go         reads the output topics and chat.messages; a gap begins a new session
//	delta.go        deltas change a user's channels and threads
//	channel.go      a channel sends its messages when they have got their seqs
//	receipts.go     when frames tell who has read or got a message
//	listed.go       which threads are too old for the panel
//	membership.go   from which message on a user is a member of a channel
//	answers.go      owners answer for counts that cannot be derived
//	derive.go       the counts of large channels, and labels, from the channel's record
//	ask.go          counts that cannot be derived are asked for
//
// A device's life:
//
//	handler.go         from the handshake to the end of the connection
//	snapshot.go        reads its inbox from the owners
//	install.go         makes the inbox the user's state
//	install_frame.go   sends the inbox, and what changed while it was read
//
// What devices send, and what becomes of it:
//
//	command.go     the frames of clients
//	readers.go     read_state, which an owner answers
//	autoread.go    reads for users who have a channel focused
//	pointers.go    where a user's pointers are, and which of their reads are on the way
//	delivered.go   deliveries of messages that a device has taken
//	produce.go     writes events to Kafka
//
// What all of these work on; here nothing calls what stands above:
//
//	updates.go     frames that tell a user's counts and pointers, and levels that hold until a time
//	loads.go       when a device gets a fresh inbox
//	positions.go   how far an answer reaches
//	user.go        a user, with their channels and threads, and the sums of these
//	conn.go        a device of a user
//	hub.go         the shards of users, each with its lock
//
// Users are spread over hubs, each with one lock for its users and their channels. Records are
// decoded before the lock is taken, and frames are encoded after, by the connection that writes
// first. Sockets are written from their queues by a few goroutines, which exist only while there is
// something to write.
//
// The gateway has no rules of the fold. It repeats what was folded, and adds up.
package gateway
