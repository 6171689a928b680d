// Package config has the settings that the verbs of the command and the development stack share:
// sizes, roles, the shares of a memory limit, and connections to Kafka and Redis.
//
// It reads no flags, and of the environment only two variables of the Go runtime (memory.go).
//
//	roles.go    the roles of a node
//	bytes.go    sizes in the form that people write
//	memory.go   the shares of a memory limit
//	cgroup.go   the limit that the kernel sets
//	cgo.go      the cache is outside the Go heap
//	nocgo.go    the cache is in the Go heap
//	kafka.go    connections to the brokers
//	sasl.go     login to the brokers
//	redis.go    connections to Redis
//	tls.go      TLS as a client and as a server
//	peertls.go  certificates by which nodes recognize each other
package config
