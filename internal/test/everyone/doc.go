// Package everyone compares all sources from which users get their numbers: the query service, the
// reader of Redis, the function in Redis, and the clients of JavaScript and Go over sockets. It has
// tests only.
//
//	everyone_test.go   the comparison
//	scripts_test.go    random scripts that are written to a node, all at once
//	site_test.go       the node
//	devices_test.go    programs that connect a device for each user
//	answers_test.go    what is compared
package everyone
