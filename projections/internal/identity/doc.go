// Package identity describes what a store belongs to and how far it was folded.
//
//	identity.go   positions, settings, topics, the header record, and how two headers differ
package identity
