package state

// Outcome is what folding one record did.
type Outcome uint8

// MaxSeq is the seq of the last message that a channel takes. The number above it says "none" where
// a seq is expected (NoOwn, stillMember).
const MaxSeq = 1<<32 - 2

// Outcomes. OutcomeTooManyHeld and OutcomeChannelFull make the record a dead letter.
const (
	OutcomeApplied     Outcome = iota
	OutcomeDuplicate           // nothing but the stamp changed
	OutcomeIgnored             // names something unknown, stale or gone: counted and ignored
	OutcomeWaiting             // a read that waits for what it names
	OutcomeTooManyHeld         // beyond the 1,000 held events of a user in a scope (DESIGN §4.3)
	OutcomeChannelFull         // a post beyond MaxSeq
	OutcomeExpiredID           // names, by id, a message that is there and older than the index: ignored (DESIGN §4.6)
	NumOutcomes
)
