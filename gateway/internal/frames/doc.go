// Package frames is the text of the gateway's frames, in and out (docs/gateway.md).
//
//	json.go      appends fields to an object
//	readers.go   appends a list of readers
//	frame.go     a frame that is encoded when it is written
//	command.go   what clients send, and how it is answered
package frames
