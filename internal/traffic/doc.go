// Package traffic makes events of the input topics.
//
//	wrap.go   an event from its body, and its record
//	mix.go    the workloads of the benches, encoded by hand because they must be cheap
package traffic
