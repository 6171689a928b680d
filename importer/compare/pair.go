package compare

import "fmt"

// Pair is a user in a channel, or in a thread of it.
type Pair struct {
	User    string `json:"user_id"`
	Channel string `json:"channel_id"`
	Thread  string `json:"thread_id"` // "" for the channel
}

// Numbers are one side's numbers of a pair.
type Numbers struct {
	Unread   int64  `json:"unread"`
	Mentions *int64 `json:"mentions"` // nil: that side has no number of mentions

	onlyMentions, capped bool   // as in importer.Count
	why                  string // as there
}

// Equal reports whether two sides agree. If one has no number of mentions, only unread decides.
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
	ByPolicy      Bucket = "policy"         // the product intentionally counts something else
	TheirsWrong   Bucket = "theirs_wrong"   // the stored number contradicts the product's own rows
	OursWrong     Bucket = "ours_wrong"     // Tidemark's number is wrong, or an input is missing
	NotComparable Bucket = "not_comparable" // one side has no such pair, or cannot have the right number
	Moved         Bucket = "moved"          // it changed between all readings
)

// Buckets lists the buckets in the order of the output.
var Buckets = []Bucket{Equal, ByPolicy, TheirsWrong, OursWrong, NotComparable, Moved}

// Line is the result for a pair.
type Line struct {
	Pair
	Theirs Numbers `json:"theirs"`
	Ours   Numbers `json:"ours"`
	Bucket Bucket  `json:"bucket"`
	Reason string  `json:"reason"` // "" for equal ones

	toEnd int64 // as in Recount, if a policy of Distance needs it
}

func (l *Line) String() string {
	where := l.User + " " + l.Channel
	if l.Thread != "" {
		where += " thread " + l.Thread
	}
	return fmt.Sprintf("%s: theirs %s, ours %s: %s: %s", where, l.Theirs, l.Ours, l.Bucket, l.Reason)
}
