// Package reflection serves gRPC server reflection: the schemas of the services of a node, for
// grpcurl, Postman and the like.
package reflection

import (
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
)

// maxBody bounds a request: it has one name.
const maxBody = 64 << 10

// Handlers returns the handlers of reflection for the services, by path, in the version that is
// stable and in the one that older clients use. They tell the schemas alone, and nothing of what a
// node has.
func Handlers(services ...string) map[string]http.Handler {
	r := grpcreflect.NewStaticReflector(services...)
	limit := connect.WithReadMaxBytes(maxBody)
	v1, h1 := grpcreflect.NewHandlerV1(r, limit)
	alpha, hAlpha := grpcreflect.NewHandlerV1Alpha(r, limit)
	const method = "ServerReflectionInfo"
	return map[string]http.Handler{v1 + method: h1, alpha + method: hAlpha}
}
