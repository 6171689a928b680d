// Package apidoc makes docs/openapi.json and docs/asyncapi.json from the schemas in events/proto,
// and tests that they are valid and that the examples of the documents fit them. `go test
// ./internal/test/apidoc -update` writes both files; `make generate` does so too.
//
//	comments.go  the comments of .proto files
//	schema.go    messages as JSON schemas
//	openapi.go   the calls of a node, as OpenAPI
//	asyncapi.go  topics and sockets, as AsyncAPI
package apidoc
