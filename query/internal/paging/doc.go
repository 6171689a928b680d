// Package paging has the order in which channels and threads are listed, and the page tokens that
// name a place in it.
//
//	token.go   keys and tokens
//	scope.go   the scopes of tokens
package paging
