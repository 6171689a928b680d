// Package authtest makes tokens for tests of endpoints that package auth protects.
//
//	authtest.go   an issuer, and its tokens
//	forged.go     tokens that must be refused
//	revocable.go  files of keys and of revoked tokens
package authtest
