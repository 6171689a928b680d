// Package admission decides who may open a socket: it checks the origin of a page, the rate of an
// address, and the token of a user. It refuses with HTTP statuses, and records refusals in the
// audit log.
//
//	door.go       requests that are refused for any caller: rates, origins, tokens in the URL
//	identity.go   the identity of the caller, from the token or the URL
//	limits.go     the limits that a greeting tells a client
//	audit.go      refusals in the audit log
package admission
