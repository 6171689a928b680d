package query

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"

	"github.com/tidemark/tidemark/internal/test/authtest"
)

// Reflection lists the services and their schemas for callers with a token, as all calls need one.
func TestReflection(t *testing.T) {
	for _, keys := range []bool{false, true} {
		c := newCluster(t, 1, 1, func(c *Config) {
			if keys {
				c.Verifier = authtest.Verifier(t)
			}
		})
		h2c := &http.Client{Transport: PeerTransport(nil)}
		t.Cleanup(h2c.CloseIdleConnections)
		client := grpcreflect.NewClient(h2c, c.nodes[0].srv.URL, connect.WithGRPC())
		ask := func(token string) ([]string, error) {
			header := http.Header{}
			if token != "" {
				header.Set("Authorization", "Bearer "+token)
			}
			s := client.NewStream(t.Context(), grpcreflect.WithRequestHeaders(header))
			defer func() { _, _ = s.Close() }()
			services, err := s.ListServices()
			var names []string
			for _, name := range services {
				files, err := s.FileContainingSymbol(name)
				if err != nil || len(files) == 0 {
					t.Errorf("%s: %d files, %v", name, len(files), err)
				}
				names = append(names, string(name))
			}
			slices.Sort(names)
			return names, err
		}
		want := []string{"tidemark.ingest.v1.IngestService", "tidemark.query.v1.QueryService"}
		token := ""
		if keys {
			if names, err := ask(""); err == nil || len(names) > 0 {
				t.Errorf("without a token: %v, %v", names, err)
			} else if !grpcreflect.IsReflectionStreamBroken(err) {
				t.Errorf("without a token: %v", err)
			}
			token = authtest.Token(t, "ann", time.Hour)
		}
		if names, err := ask(token); err != nil || !slices.Equal(names, want) {
			t.Errorf("keys %v: %v, %v", keys, names, err)
		}
	}
}
