// Package wire decodes and appends fields of stored records.
//
//	wire.go   lengths, numbers and strings
package wire
