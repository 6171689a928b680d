// Package gauge has the instruments of the benches and the format of their results. It imports no
// other package of Tidemark. The CPU time of other processes and of threads, and resident memory,
// are measured on Linux only.
//
//	report.go             a measured line with its goals, and the table of lines
//	stopwatch.go          durations from many goroutines; quantiles
//	cpu.go                CPU time of a process and of servers between two moments
//	self_unix.go          the CPU time of this process
//	self_windows.go       the same on Windows
//	proc.go               the CPU time of the machine and of other processes, and what these write;
//	                      who listens on a port
//	threadtime_linux.go   the CPU time of a thread
//	threadtime_other.go   0 instead
//	memory.go             resident memory, live heap, pauses of the collector
//	rounds.go             the median of repeated measurements
//	files_unix.go         the limit on open files
//	files_windows.go      no such limit
package gauge
