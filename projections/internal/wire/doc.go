// Package wire takes fields off a stored record and appends them.
//
//	wire.go   lengths, numbers and strings
package wire
