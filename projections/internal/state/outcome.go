package state

// Outcome is the result of folding one record.
type Outcome uint8

// MaxSeq is the highest seq that a message of a channel can have. The next number means "none"
// where a seq is expected (NoOwn, stillMember).
const MaxSeq = 1<<32 - 2

// The values of Outcome. OutcomeTooManyHeld and OutcomeChannelFull make the record a dead letter.
const (
	OutcomeApplied     Outcome = iota
	OutcomeDuplicate           // only the stamp changed
	OutcomeIgnored             // names something unknown, stale or gone; only counted
	OutcomeWaiting             // a read that waits for the message it names
	OutcomeTooManyHeld         // beyond the 1,000 held events of a user in a scope (DESIGN §4.3)
	OutcomeChannelFull         // a post beyond MaxSeq
	OutcomeExpiredID           // names, by id, a message that is older than the index: ignored (DESIGN §4.6)
	NumOutcomes
)
