package testkit

import (
	"context"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// RedisServer is a real redis-server of one test. It stores nothing on disk. Its methods fail the
// test on errors.
type RedisServer struct {
	// URL is the address in the form that --redis takes, redis://127.0.0.1:PORT.
	URL string

	t   testing.TB
	own *servers.Redis
}

// Redis starts a redis-server for this test, which takes about 30 ms, and ends it with the test.
func Redis(t testing.TB) *RedisServer {
	t.Helper()
	NeedsServer(t)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	r, err := servers.StartRedis(ctx)
	if err != nil {
		t.Fatalf("real Redis for tests: %v", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("end Redis: %v", err)
		}
	})
	return &RedisServer{URL: r.URL(), t: t, own: r}
}

// Kill ends the server with SIGKILL: connections break and new ones are refused.
func (r *RedisServer) Kill() {
	r.t.Helper()
	r.do("kill", r.own.Kill)
}

// Start runs the server again after Kill, at the same address and empty.
func (r *RedisServer) Start() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	r.do("start", func() error { return r.own.Start(ctx) })
}

// Restart is Kill and Start: a Redis that has lost all data.
func (r *RedisServer) Restart() {
	r.t.Helper()
	r.Kill()
	r.Start()
}

// Pause freezes the server with SIGSTOP: connections stay open and nothing answers, until Continue.
func (r *RedisServer) Pause() {
	r.t.Helper()
	r.do("pause", r.own.Pause)
}

// Continue ends a pause.
func (r *RedisServer) Continue() {
	r.t.Helper()
	r.do("continue", r.own.Continue)
}

func (r *RedisServer) do(what string, f func() error) {
	r.t.Helper()
	if err := f(); err != nil {
		r.t.Fatalf("%s Redis: %v", what, err)
	}
}

// Miniredis starts an embedded Redis in this process, and ends it with the test. Keys expire only
// through its FastForward.
func Miniredis(t testing.TB) *miniredis.Miniredis {
	t.Helper()
	return miniredis.RunT(t)
}
