// Package metrics has the counters and histograms of a processor. Gauges are read from the workers
// at each scrape, and are not here.
//
// Its files, in the order in which to read them:
//
//	metrics.go    counters and histograms
//	strangers.go  records in wrong partitions, and their likely producer
package metrics
