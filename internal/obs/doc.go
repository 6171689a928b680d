// Package obs has what every node shows of itself: its log, its metrics registry, its build, and
// the endpoints /healthz, /readyz and /metrics. Each package defines its own metrics.
//
//	log.go        the log
//	requestid.go  the names of requests
//	seldom.go   at most one line a second
//	metrics.go  the metrics registry
//	health.go   the endpoints
//	build.go    what is running
//	sbom.go     the modules of the binary
package obs
