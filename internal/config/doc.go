// Package config has the settings that the verbs of the command and the development stack share:
// sizes, roles, the shares of a memory limit, and connections to Kafka and Redis.
//
// It reads no flags, and of the environment only two variables of the Go runtime (memory.go).
//
//	roles.go    the roles of a node
//	bytes.go    sizes as people write them
//	memory.go   the shares of a memory limit
//	cgroup.go   the limit that the kernel sets
//	cgo.go      whether the cache is outside the Go heap: it is
//	nocgo.go    it is not
//	kafka.go    how to reach the brokers
//	sasl.go     how to log in there
//	redis.go    how to reach Redis
//	tls.go      TLS as a client and as a server
//	peertls.go  certificates by which nodes recognize each other
package config
