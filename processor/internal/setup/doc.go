// Package setup has the shared parts of a processor's packages: its configuration, the interface of
// a partition's fold, and the hooks for tests.
//
// Its files, in the order in which to read them:
//
//	config.go   the configuration, with the meaning of each zero
//	checked.go  the validated configuration, with defaults filled in
//	fold.go     the interface of a partition's projection
//	memory.go   the share of a store in the memory for hot state
//	hooks.go    hooks for tests
package setup
