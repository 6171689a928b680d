// Package setup has what the packages of a processor share: its configuration, the interface of a
// partition's fold, and the hooks for tests.
//
// Its files, in the order in which to read them:
//
//	config.go   the configuration, with the meaning of each zero
//	checked.go  the same without mistakes and with the defaults filled in
//	fold.go     the interface of a partition's projection
//	hooks.go    hooks for tests
package setup
