// Package metrics has the counters and histograms of a processor. Gauges are read from the workers
// when they are asked for, and are not here.
//
// Its files, in the order in which to read them:
//
//	metrics.go    what is counted and timed
//	strangers.go  records in wrong partitions, and whose producer they look like
package metrics
