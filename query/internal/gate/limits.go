// Package gate bounds what callers may cost: how often they call, how many calls they have under
// way, and how much memory the bodies of their requests take together.
//
//	limits.go  Limits, and why a call is refused
//	gate.go    Limits at work
package gate

import (
	"errors"
	"time"
)

// Limits bound what callers of a node may cost. Calls that another node forwards, which proves that
// it is one, are not counted again.
type Limits struct {
	// UserRate is how many calls a second a user's token may make, UserBurst how many at once,
	// UserConcurrency how many may be under way. WatchUnread counts as one call of the rate
	// (Config.MaxWatchesPerUser bounds how many are open). 0 = no limit. Tokens with scopes, and
	// callers of a node without keys, are bound by their address alone.
	UserRate        float64
	UserBurst       int
	UserConcurrency int
	// AddressRate is how many calls a second one address may make, with or without a valid token,
	// AddressBurst how many at once, AddressConcurrency how many it may have under way, WatchUnread
	// not counted. Of IPv6 the network of 64 bits counts. 0 = no limit.
	AddressRate        float64
	AddressBurst       int
	AddressConcurrency int
	// Bodies is how many bytes of memory the bodies of requests may take together. Events have
	// three quarters of it, queries the rest. 0 = 128 MiB.
	Bodies int64
	// Waits is how many calls may wait for their `after` at once. 0 = 2,048.
	Waits int
}

// WithDefaults are the limits with those set that must not be zero.
func (l Limits) WithDefaults() Limits {
	if l.Bodies == 0 {
		l.Bodies = 128 << 20
	}
	if l.Waits == 0 {
		l.Waits = 2048
	}
	return l
}

// Refusal is why a call is refused, and for how long.
type Refusal struct {
	Reason string // for metrics, one of Reasons
	Wait   time.Duration
	Err    error
}

const (
	userRate           = "user_rate"
	userConcurrency    = "user_concurrency"
	addressRate        = "address_rate"
	addressConcurrency = "address_concurrency"
)

// Reasons are those of all refusals.
var Reasons = []string{userRate, userConcurrency, addressRate, addressConcurrency}

var (
	errUserRate           = errors.New("this user makes too many calls: wait a little")
	errUserConcurrency    = errors.New("this user has as many calls under way as one may have: wait for an answer")
	errAddressRate        = errors.New("this address makes too many calls: wait a little")
	errAddressConcurrency = errors.New("this address has as many calls under way as one may have: wait for an answer")
)
