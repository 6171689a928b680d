package projections

import "github.com/tidemark/tidemark/projections/internal/views"

// The types of queries and of their answers. Package views has the methods of a Partition that use
// them.
type (
	// Source is the interface of everything that answers queries, such as a Partition.
	Source = views.Source
	// Ref names a message in a View. The zero Ref names none.
	Ref = views.Ref
	// Head is the newest message of a channel or thread, as a View shows it.
	Head = views.Head
	// View is what a user sees of a channel.
	View = views.View
	// ChannelView describes a channel independently of any user.
	ChannelView = views.ChannelView
	// ThreadView is what a user sees of a thread.
	ThreadView = views.ThreadView
	// Explanation states why a View has its numbers.
	Explanation = views.Explanation
	// Excluded is a message that an Explanation leaves out, with the reason.
	Excluded = views.Excluded
	// Event identifies the record that an Explanation refers to.
	Event = views.Event
	// ExplainWalk is an Explanation in progress.
	ExplainWalk = views.ExplainWalk

	// Known lists the users of whom a partition held anything when it last folded.
	Known = views.Known
	// InboxEntry is the part of a View that an inbox needs to sort and sum channels.
	InboxEntry = views.InboxEntry
	// ThreadEntry is the part of a ThreadView that a panel needs to sort and sum threads.
	ThreadEntry = views.ThreadEntry
	// Standing is what a channel contributes to a user's totals.
	Standing = views.Standing
	// ThreadRef is the place of a follow in memory, for Views.ThreadAt.
	ThreadRef = views.ThreadRef
	// Sweep lists the channels and the threads of a user, in several short holds of the lock.
	Sweep = views.Sweep
	// Views are views of one position. They are completed without the lock.
	Views = views.Views
	// ViewMemory is the memory for Views, allocated before the lock is taken.
	ViewMemory = views.ViewMemory

	// Receipt is the receipt of one recipient of a message.
	Receipt = views.Receipt
	// ReceiptsView is a page of the recipients of a message.
	ReceiptsView = views.ReceiptsView
	// ReceiptsMemory is the memory for a page of recipients, allocated before the lock is taken.
	ReceiptsMemory = views.ReceiptsMemory
	// ReceiptsWalk is a page of recipients in progress.
	ReceiptsWalk = views.ReceiptsWalk
	// Reader states how far one member of a channel has read.
	Reader = views.Reader
	// ReadersView is a page of the readers of a channel.
	ReadersView = views.ReadersView
	// ReadersMemory is the memory for a page of readers, allocated before the lock is taken.
	ReadersMemory = views.ReadersMemory
	// ReadersWalk is a page of readers in progress.
	ReadersWalk = views.ReadersWalk

	// UserRow names a channel in which the user has a row.
	UserRow = views.UserRow
	// UserPage is one page of a user's rows, ordered by channel id.
	UserPage = views.UserPage
)

// ThreadsWarmed is how many threads one call of Views.WarmThreads takes.
const ThreadsWarmed = views.ThreadsWarmed

// ErrClosing is returned for an answer that was not complete when the partition's store was closed.
// Ask the partition's new owner.
var ErrClosing = views.ErrClosing

// NewReceiptsMemory allocates the memory for a page of at most limit recipients.
func NewReceiptsMemory(limit int) *ReceiptsMemory { return views.NewReceiptsMemory(limit) }

// NewReadersMemory allocates the memory for a page of at most limit readers.
func NewReadersMemory(limit int) *ReadersMemory { return views.NewReadersMemory(limit) }

// NewUserPage allocates a page of limit rows, of channels whose ids come after the given one.
func NewUserPage(after string, limit int) *UserPage { return views.NewUserPage(after, limit) }

// UserHash returns the hash of a user id that Partition.MayKnow and Known.May take.
func UserHash(userID string) uint64 { return views.UserHash(userID) }
