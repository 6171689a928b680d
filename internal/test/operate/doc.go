// Package operate tests what operators of Tidemark rely on: the page of its metrics, the rules of
// its alerts, and its dashboards. It starts nodes of every role on the embedded servers, reads
// their /metrics as Prometheus does, and compares.
//
//	scrape.go  what a node exports
//	page.go    docs/metrics.md, made from what nodes export
//	rules.go   the alerts of deploy/prometheus
//	advice.go  what to do about a metric
package operate
