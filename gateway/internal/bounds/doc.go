// Package bounds has the limits of the costs of one client of a gateway.
//
//	limits.go   the limits and their defaults
package bounds
