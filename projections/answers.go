package projections

import "github.com/tidemark/tidemark/projections/internal/views"

// What queries ask and answer; package views has the methods of a Partition that do.
type (
	// Source is what has queries: a Partition.
	Source = views.Source
	// Ref names a message in a View. The zero Ref is none.
	Ref = views.Ref
	// Head is the newest message of a channel or thread, as a View shows it.
	Head = views.Head
	// View is what a user sees of a channel.
	View = views.View
	// ChannelView describes a channel independently of any user.
	ChannelView = views.ChannelView
	// ThreadView is what a user sees of a thread.
	ThreadView = views.ThreadView
	// Explanation is why a View has its numbers.
	Explanation = views.Explanation
	// Excluded is a message that an Explanation leaves out, and why.
	Excluded = views.Excluded
	// Event names the record that an Explanation goes back to.
	Event = views.Event
	// ExplainWalk is an Explanation that was begun.
	ExplainWalk = views.ExplainWalk

	// Known are the users of whom a partition held something when it was folded last.
	Known = views.Known
	// InboxEntry is the part of a View that an inbox sorts and sums by.
	InboxEntry = views.InboxEntry
	// ThreadEntry is the part of a ThreadView that a panel sorts and sums by.
	ThreadEntry = views.ThreadEntry
	// Standing is how a channel enters a user's totals.
	Standing = views.Standing
	// ThreadRef is where a follow is in memory, for Views.ThreadAt.
	ThreadRef = views.ThreadRef
	// Sweep lists the channels and the threads of a user, under several holds of the lock.
	Sweep = views.Sweep
	// Views are views of one position that are completed without the lock.
	Views = views.Views
	// ViewRoom is the memory of Views, made before the lock is taken.
	ViewRoom = views.ViewRoom

	// Receipt is what is known of one recipient of a message.
	Receipt = views.Receipt
	// ReceiptsView is a page of the recipients of a message.
	ReceiptsView = views.ReceiptsView
	// ReceiptsRoom is the memory of a page of recipients, made before the lock is taken.
	ReceiptsRoom = views.ReceiptsRoom
	// ReceiptsWalk is a page of recipients that was begun.
	ReceiptsWalk = views.ReceiptsWalk
	// Reader is how far one member of a channel read.
	Reader = views.Reader
	// ReadersView is a page of the readers of a channel.
	ReadersView = views.ReadersView
	// ReadersRoom is the memory of a page of readers, made before the lock is taken.
	ReadersRoom = views.ReadersRoom
	// ReadersWalk is a page of readers that was begun.
	ReadersWalk = views.ReadersWalk

	// UserRow is a channel in which something is known of a user.
	UserRow = views.UserRow
	// UserPage is the first of a user's rows in the order of the channels' ids.
	UserPage = views.UserPage
)

// ThreadsWarmed is how many threads Views.WarmThreads takes.
const ThreadsWarmed = views.ThreadsWarmed

// ErrClosing is the error of an answer that was not complete when the partition's store was closed:
// ask the partition's new owner.
var ErrClosing = views.ErrClosing

// NewReceiptsRoom makes room for a page of at most limit recipients.
func NewReceiptsRoom(limit int) *ReceiptsRoom { return views.NewReceiptsRoom(limit) }

// NewReadersRoom makes room for a page of at most limit readers.
func NewReadersRoom(limit int) *ReadersRoom { return views.NewReadersRoom(limit) }

// NewUserPage makes room for limit rows, of channels whose ids come after one.
func NewUserPage(after string, limit int) *UserPage { return views.NewUserPage(after, limit) }

// UserHash is what Partition.MayKnow and Known.May find a user by.
func UserHash(userID string) uint64 { return views.UserHash(userID) }
