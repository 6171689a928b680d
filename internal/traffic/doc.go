// Package traffic makes events of the input topics.
//
//	wrap.go   any event from its body, and the record that has it
//	mix.go    the workloads of the benches, encoded by hand because they must be cheap
package traffic
