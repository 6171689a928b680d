// Package fourthclient plays the files of clients/conformance with a client in Ruby that was
// written from these files and their README alone: they are enough for a language without a client.
// The client is a fixture, not a product: it has a socket, a watch and errors of calls, but no
// publishing and no reader of Redis.
//
//	testdata/client.rb  the client
//	testdata/play.rb    plays the files with it
package fourthclient
