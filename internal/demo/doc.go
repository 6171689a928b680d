// Package demo is a small chat company that never stops talking: what `tidemark dev` shows when nobody else sends
// anything.
//
// scenario.go and act.go decide what happens: pure, a function of the seed. driver.go lets it happen at the pace of
// people, on a Kafka.
package demo
