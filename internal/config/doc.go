// Package config has what the verbs of the command and the development stack configure in the same way: sizes, roles,
// the shares of a memory limit, and how to reach Kafka and Redis.
//
// It reads no flags and no environment itself, but for the two variables of the Go runtime that a person may have set
// (memory.go).
package config
