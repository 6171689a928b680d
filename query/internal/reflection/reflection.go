// Package reflection serves gRPC server reflection: the schemas of a node's services, for tools
// such as grpcurl and Postman.
package reflection

import (
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
)

// maxBody limits a request, which has a single name.
const maxBody = 64 << 10

// Handlers returns the handlers of reflection for the services, by path, in the stable version and
// in the one that older clients use. They return only schemas, and no data of a node.
func Handlers(services ...string) map[string]http.Handler {
	r := grpcreflect.NewStaticReflector(services...)
	limit := connect.WithReadMaxBytes(maxBody)
	v1, h1 := grpcreflect.NewHandlerV1(r, limit)
	alpha, hAlpha := grpcreflect.NewHandlerV1Alpha(r, limit)
	const method = "ServerReflectionInfo"
	return map[string]http.Handler{v1 + method: h1, alpha + method: hAlpha}
}
