// Package gate limits the costs of callers: how often they call, how many calls they have at the
// same time, and how much memory the bodies of their requests take together.
//
//	limits.go  Limits, and why a call is refused
//	gate.go    applying the limits
package gate

import (
	"errors"
	"time"
)

// Limits limit the costs of a node's callers. Calls that another node forwards, with proof that it
// is a node, are not counted again.
type Limits struct {
	// UserRate is how many calls a second a user's token may make, UserBurst how many at once,
	// UserConcurrency how many at the same time. WatchUnread counts as one call for the rate
	// (Config.MaxWatchesPerUser limits the open ones). 0 = no limit. For tokens with scopes, and on
	// a node without keys, only the address limits apply.
	UserRate        float64
	UserBurst       int
	UserConcurrency int
	// AddressRate is how many calls a second one address may make, with or without a valid token,
	// AddressBurst how many at once, AddressConcurrency how many at the same time, without
	// WatchUnread. For IPv6 the network of 64 bits counts. 0 = no limit.
	AddressRate        float64
	AddressBurst       int
	AddressConcurrency int
	// Bodies is the memory for the bodies of all requests, in bytes. Events have three quarters of
	// it, queries the rest. 0 = 128 MiB.
	Bodies int64
	// Waits is how many calls may wait for their `after` at once. 0 = 2,048.
	Waits int
}

// WithDefaults returns the limits with defaults for those that must not be zero.
func (l Limits) WithDefaults() Limits {
	if l.Bodies == 0 {
		l.Bodies = 128 << 20
	}
	if l.Waits == 0 {
		l.Waits = 2048
	}
	return l
}

// Refusal states why a call is refused, and for how long.
type Refusal struct {
	Reason string // label for metrics, one of Reasons
	Wait   time.Duration
	Err    error
}

const (
	userRate           = "user_rate"
	userConcurrency    = "user_concurrency"
	addressRate        = "address_rate"
	addressConcurrency = "address_concurrency"
)

// Reasons are the reasons of all refusals.
var Reasons = []string{userRate, userConcurrency, addressRate, addressConcurrency}

var (
	errUserRate           = errors.New("this user makes too many calls: wait a little")
	errUserConcurrency    = errors.New("this user has as many calls under way as one may have: wait for an answer")
	errAddressRate        = errors.New("this address makes too many calls: wait a little")
	errAddressConcurrency = errors.New("this address has as many calls under way as one may have: wait for an answer")
)
