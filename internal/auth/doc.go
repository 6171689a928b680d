// Package auth verifies callers (DESIGN §10, "Who is calling"): a caller sends a JSON Web Token
// whose `sub` is the user.
//
// Keys come from a file or a JWKS address (keyset.go) and are rotated without a restart (keys.go).
// The type of a key decides its algorithm, so a token cannot choose one (verify.go): no `none`, no
// RSA public key used as an HMAC secret, no key that a token contains or points to.
//
// The package never logs a token. An error has nothing of a token, only the reason of the refusal.
//
//	verify.go     checks a token
//	keyset.go     keys, and the algorithm that each takes
//	keys.go       the keys of a file or an address, read again when they change
//	source.go     reads a file or an address
//	revoked.go    revoked users and tokens
//	scopes.go     what a token allows
//	context.go    the caller in the context of a request
//	hold.go       checks connected callers again
//	operator.go   requests that only an operator may make
//	tokenfile.go  the token that this process sends
//	sign.go       makes a token, for operators
package auth
