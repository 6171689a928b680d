// Package obs has what every node exposes: its log, its metrics registry, its build, and the
// endpoints /healthz, /readyz and /metrics. Each package defines its own metrics.
//
//	log.go        the log
//	level.go      its level, which may change
//	requestid.go  ids of requests
//	seldom.go     at most one line a second
//	metrics.go    the metrics registry
//	health.go     the endpoints
//	build.go      the running build
//	sbom.go       the modules of the binary
package obs
