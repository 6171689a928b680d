// Package limit bounds the requests of a caller: their rate (Rates), how many run at once (Slots),
// and how many bytes of all requests together may wait in memory (Bytes). Its types are safe for
// concurrent use, and their memory is bounded, however many keys there are.
//
//	network.go  the network that an address counts as
//	rates.go    Rates: calls over time
//	slots.go    Slots: calls at the same time
//	bytes.go    Bytes: how much memory together
package limit
