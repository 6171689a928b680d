// Package paths measures the whole path of two binaries by turns. It runs each binary as a node, so
// it can measure a binary whose own benches lack something.
//
//	paths.go             the rounds, and what each line reports
//	lines.go             the lines: mixes, modes and sizes
//	flags.go             the flags of a node, as far as the binary has them
//	measure.go           one line of one binary
//	node.go              the binary as a child process
//	written_unix.go      the bytes that an ended process has written
//	written_windows.go   0 instead
//	stage.go             the topics of a run, and their events
//	reach.go             waits until a node and its cache have committed offsets
//	echo.go              the minimum cost of a consumer with outputs
//	redis.go             the memory of Redis
package paths
