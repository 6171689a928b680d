package reflection_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/tidemark/tidemark/query/internal/reflection"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// A client of either version gets the names of the services and their schemas, and no others.
func TestReflection(t *testing.T) {
	const service = queryv1connect.QueryServiceName
	handlers := reflection.Handlers(service)
	if len(handlers) != 2 {
		t.Errorf("%d handlers, want one for each version", len(handlers))
	}
	for path, handler := range handlers {
		t.Run(path, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle(path, handler) // one version alone: the client switches to it
			server := httptest.NewUnstartedServer(mux)
			server.EnableHTTP2 = true
			server.StartTLS()
			defer server.Close()
			client := grpcreflect.NewClient(server.Client(), server.URL, connect.WithGRPC())

			stream := client.NewStream(t.Context())
			names, err := stream.ListServices()
			if err != nil || !slices.Equal(names, []protoreflect.FullName{service}) {
				t.Errorf("the services are %v, %v", names, err)
			}
			files, err := stream.FileContainingSymbol(service)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(files, func(f *descriptorpb.FileDescriptorProto) bool {
				return slices.ContainsFunc(f.GetService(), func(s *descriptorpb.ServiceDescriptorProto) bool {
					return f.GetPackage()+"."+s.GetName() == service
				})
			}) {
				t.Errorf("none of %d files has the service", len(files))
			}
			if _, err := stream.FileContainingSymbol("tidemark.NoSuchService"); err == nil {
				t.Error("there are files of a service that no node has")
			}
			if _, err := stream.Close(); err != nil {
				t.Error(err)
			}

			stream = client.NewStream(t.Context())
			long := protoreflect.FullName("tidemark." + strings.Repeat("x", 64<<10))
			if _, err := stream.FileContainingSymbol(long); connect.CodeOf(err) != connect.CodeResourceExhausted {
				t.Errorf("a request of more than 64 KiB: %v", err)
			}
			_, _ = stream.Close() // the refusal has already ended it
		})
	}
}
