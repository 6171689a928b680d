// Package bounds has what one client of a gateway can cost at most.
//
//	limits.go   the limits and their defaults
package bounds
