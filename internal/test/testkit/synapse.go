package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// SynapseServer is a real Matrix server of one test. Its methods fail the test on errors.
type SynapseServer struct {
	// URL is the address of the client API.
	URL string

	t   testing.TB
	own *servers.Synapse
}

// fetchTimeout bounds the download of Synapse and its dependencies.
const fetchTimeout = 10 * time.Minute

// Synapse starts a Synapse for this test, on an empty database of a PostgreSQL, and ends it with
// the test. It takes about ten seconds, and minutes if it has to be fetched first.
func Synapse(t testing.TB, dsn string) *SynapseServer {
	t.Helper()
	NeedsServer(t)
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	if _, err := servers.SynapsePython(ctx); err != nil {
		t.Fatalf("fetch Synapse for tests: %v", err)
	}
	s, err := servers.StartSynapse(ctx, dsn)
	if err != nil {
		t.Fatalf("Synapse for tests: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("end Synapse: %v", err)
		}
	})
	return &SynapseServer{URL: s.URL(), t: t, own: s}
}

// Kill ends the server with SIGKILL.
func (s *SynapseServer) Kill() {
	s.t.Helper()
	if err := s.own.Kill(); err != nil {
		s.t.Fatalf("kill Synapse: %v", err)
	}
}

// Start runs the server again after Kill, at the same address.
func (s *SynapseServer) Start() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := s.own.Start(ctx); err != nil {
		s.t.Fatalf("start Synapse: %v", err)
	}
}
