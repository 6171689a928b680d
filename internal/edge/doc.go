// Package edge is the outermost layer of a node's HTTP servers: all listeners and paths of `run`,
// `gateway` and `dev` go through it. It does not depend on the paths behind it. It
//
//   - bounds how long a request may take to arrive, an answer to be taken, and a connection to be
//     idle (server.go); a streamed answer has a deadline for each write instead (lasting.go)
//   - bounds the number of connections, and closes idle ones for new ones (listener.go)
//   - finds out from which address a request comes, behind proxies that are trusted (client.go)
//   - without keys, refuses requests for a host name that another site could have made up
//     (hosts.go)
//   - gives each request an id, or keeps the caller's (server.go, package obs)
//   - logs the errors of net/http, at most one line a second (errorlog.go)
//
// The files:
//
//	server.go             Server: deadlines of a listener
//	listener.go           bounds the open connections
//	descriptors.go        the possible number of connections of the process
//	descriptors_unix.go   the limit of the system
//	descriptors_other.go  systems without a limit
//	client.go             the client's address behind proxies
//	hosts.go              allowed hosts of requests
//	lasting.go            long answers
//	errorlog.go           the error log of net/http
//	metrics.go            metrics of connections and refusals
package edge
