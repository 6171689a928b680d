package chats

import "math/rand/v2"

// Want is what a user must have in a channel after everybody's actions there.
type Want struct {
	Member           bool
	Unread, Mentions uint32
}

// hour is an hour in milliseconds.
const hour = 60 * 60 * 1000

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }
