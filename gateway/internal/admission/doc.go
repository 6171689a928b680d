// Package admission judges who may open a socket: a page by its origin, an address by its rate, and
// a user by their token. It says no in HTTP's words, and notes refusals in the audit log.
//
//	door.go       requests that are refused for any caller: rates, origins, tokens in the URL
//	identity.go   who connects, as their token or the URL says
//	audit.go      refusals in the audit log
package admission
