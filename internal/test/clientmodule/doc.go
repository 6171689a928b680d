// Package clientmodule tests the Go client, which is a module of its own: it starts a node, runs the
// client's tests against it, and uses the module as a program does that has got it from a release.
package clientmodule
