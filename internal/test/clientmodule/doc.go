// Package clientmodule tests the Go client, which is a module of its own: it starts a node and runs
// the client's tests against it.
package clientmodule
