// Package paging is the order in which channels and threads are listed, and the page tokens that
// name a place in it.
//
//	token.go   keys and tokens
//	scope.go   what tokens are bound to
package paging
