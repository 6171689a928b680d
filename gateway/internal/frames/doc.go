// Package frames is the text of the gateway's frames, in and out (docs/gateway.md).
//
//	json.go      appending fields to an object
//	readers.go   appending a list of readers
//	frame.go     a frame that is encoded when it is written
//	command.go   frames of clients, and the answers to them
package frames
