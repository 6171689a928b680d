package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Redis is a running redis-server that keeps nothing on disk: after Kill or Stop it comes back empty.
type Redis struct {
	guard *guard
	proc  *process
}

// StartRedis starts a redis-server on a free port of 127.0.0.1 and returns when it accepts connections, after about
// 50 ms. Close ends it.
func StartRedis(ctx context.Context) (*Redis, error) {
	path, err := lookPath("redis-server", "Redis", "redis-server")
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		r, err := startRedis(ctx, path)
		if errors.Is(err, errPortTaken) && try < 3 {
			continue
		}
		return r, err
	}
}

func startRedis(ctx context.Context, path string) (*Redis, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tidemark-redis-")
	if err != nil {
		return nil, fmt.Errorf("working directory of redis-server: %w", err)
	}
	g, err := newGuard(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	port := strconv.Itoa(ports[0])
	r := &Redis{guard: g, proc: &process{
		name:  "redis-server",
		argv:  []string{path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"},
		dir:   dir,
		addr:  "127.0.0.1:" + port,
		guard: g,
	}}
	if err := r.Start(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// URL is the address in the form that --redis takes.
func (r *Redis) URL() string { return "redis://" + r.proc.addr }

// Start runs the server again after Stop or Kill, at the same address and empty.
func (r *Redis) Start(ctx context.Context) error {
	if err := r.proc.start(ctx); err != nil {
		return err
	}
	return r.isOurs(ctx)
}

// isOurs makes sure that who answers is the process just started, and not another that took the port.
func (r *Redis) isOurs(ctx context.Context) error {
	cl := redis.NewClient(&redis.Options{Addr: r.proc.addr})
	defer func() { _ = cl.Close() }() // was only asked
	info, err := cl.InfoMap(ctx, "server").Result()
	if err != nil {
		return fmt.Errorf("ask redis-server at %s who it is: %w", r.proc.addr, err)
	}
	if pid, want := info["Server"]["process_id"], strconv.Itoa(r.proc.pid()); pid != want {
		return fmt.Errorf("redis-server at %s: %w by process %s, ours is %s", r.proc.addr, errPortTaken, pid, want)
	}
	return nil
}

// Stop ends the server with SIGTERM.
func (r *Redis) Stop() error { return r.proc.stop() }

// Kill ends the server with SIGKILL.
func (r *Redis) Kill() error { return r.proc.kill() }

// Pause freezes the server with SIGSTOP until Continue.
func (r *Redis) Pause() error { return r.proc.pause() }

// Continue ends a pause.
func (r *Redis) Continue() error { return r.proc.resume() }

// Close kills the server and removes its directory.
func (r *Redis) Close() error { return errors.Join(r.proc.kill(), r.guard.release()) }
