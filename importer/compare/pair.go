package compare

import "fmt"

// Pair is a user in a channel, or in a thread of it.
type Pair struct {
	User    string `json:"user_id"`
	Channel string `json:"channel_id"`
	Thread  string `json:"thread_id"` // "" for the channel
}

// Numbers are what one side has for a pair.
type Numbers struct {
	Unread   int64  `json:"unread"`
	Mentions *int64 `json:"mentions"` // nil: that side has no number of mentions

	onlyMentions, capped bool   // as in importer.Count
	why                  string // as there
}

// Equal reports whether two sides agree. Where one has no number of mentions, unread decides.
func (n Numbers) Equal(o Numbers) bool {
	return n.Unread == o.Unread && (n.Mentions == nil || o.Mentions == nil || *n.Mentions == *o.Mentions)
}

// same reports whether two readings of one side are the same.
func (n Numbers) same(o Numbers) bool {
	return n.Equal(o) && (n.Mentions == nil) == (o.Mentions == nil)
}

func (n Numbers) String() string {
	if n.Mentions == nil || *n.Mentions == 0 {
		return fmt.Sprint(n.Unread)
	}
	return fmt.Sprintf("%d (%d @)", n.Unread, *n.Mentions)
}

// Bucket is the result of a comparison of one pair.
type Bucket string

// The buckets.
const (
	Equal         Bucket = "equal"
	ByPolicy      Bucket = "policy"         // they count something else by intention
	TheirsWrong   Bucket = "theirs_wrong"   // what they store is not true by their own rows
	OursWrong     Bucket = "ours_wrong"     // Tidemark's number is wrong, or an input is missing
	NotComparable Bucket = "not_comparable" // one side cannot have the pair
	Moved         Bucket = "moved"          // it changed between all readings
)

// Buckets lists them in the order in which people read them.
var Buckets = []Bucket{Equal, ByPolicy, TheirsWrong, OursWrong, NotComparable, Moved}

// Line is the result for a pair.
type Line struct {
	Pair
	Theirs Numbers `json:"theirs"`
	Ours   Numbers `json:"ours"`
	Bucket Bucket  `json:"bucket"`
	Reason string  `json:"reason"` // "" for equal ones
}

func (l *Line) String() string {
	where := l.User + " " + l.Channel
	if l.Thread != "" {
		where += " thread " + l.Thread
	}
	return fmt.Sprintf("%s: theirs %s, ours %s: %s: %s", where, l.Theirs, l.Ours, l.Bucket, l.Reason)
}
