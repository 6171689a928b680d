package servers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Redis is a running redis-server that keeps nothing on disk: after Kill or Stop it comes back
// empty.
type Redis struct {
	guard  *guard
	proc   *process
	client redis.Options // of a user with all rights
}

// StartRedis starts a redis-server on a free port of 127.0.0.1 and returns when it accepts
// connections, after about 50 ms. Close ends it.
func StartRedis(ctx context.Context) (*Redis, error) { return StartSecuredRedis(ctx, RedisSecurity{}) }

// RedisSecurity makes a redis-server require TLS and a login. The zero value requires neither.
type RedisSecurity struct {
	// Cert and Key of the server, in PEM form.
	Cert, Key []byte
	// Admin is the password of the user "admin", who has all rights. The default user then has
	// none.
	Admin string
}

// StartSecuredRedis is StartRedis for a server with TLS and logins.
func StartSecuredRedis(ctx context.Context, s RedisSecurity) (*Redis, error) {
	path, err := lookPath("redis-server", "Redis", "redis-server")
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		r, err := startRedis(ctx, path, s)
		if errors.Is(err, errPortTaken) && try < 3 {
			continue
		}
		return r, err
	}
}

func startRedis(ctx context.Context, path string, s RedisSecurity) (*Redis, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	dir, g, err := guardedDir("redis")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(ports[0])
	argv := []string{path, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"}
	client := redis.Options{Addr: "127.0.0.1:" + port}
	if s.Cert == nil {
		argv = append(argv, "--port", port)
	} else {
		files, err := s.write(dir)
		if err != nil {
			return nil, errors.Join(err, g.release())
		}
		argv = append(append(argv, "--port", "0", "--tls-port", port, "--tls-auth-clients", "no"), files...)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(s.Cert)
		client.TLSConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		client.Username, client.Password = "admin", s.Admin
	}
	r := &Redis{guard: g, client: client, proc: &process{name: "redis-server", argv: argv, dir: dir, addr: client.Addr, guard: g}}
	if err := r.Start(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// write writes the files of a secured server to its directory and returns the arguments that name
// them.
func (s RedisSecurity) write(dir string) (args []string, err error) {
	acl := "user default off\nuser admin on >" + s.Admin + " ~* &* +@all\n"
	for _, f := range []struct {
		flag, name string
		text       []byte
	}{
		{"--tls-cert-file", "cert.pem", s.Cert},
		{"--tls-key-file", "key.pem", s.Key},
		{"--tls-ca-cert-file", "cert.pem", s.Cert},
		{"--aclfile", "users.acl", []byte(acl)},
	} {
		name := filepath.Join(dir, f.name)
		if err := os.WriteFile(name, f.text, 0o600); err != nil {
			return nil, fmt.Errorf("file of redis-server: %w", err)
		}
		args = append(args, f.flag, name)
	}
	return args, nil
}

// Client returns a client with all rights. The caller closes it.
func (r *Redis) Client() *redis.Client {
	o := r.client
	return redis.NewClient(&o)
}

// Addr returns host:port.
func (r *Redis) Addr() string { return r.proc.addr }

// URL returns the address in the form of --redis.
func (r *Redis) URL() string { return "redis://" + r.proc.addr }

// Start runs the server again after Stop or Kill, at the same address and empty.
func (r *Redis) Start(ctx context.Context) error {
	if err := r.proc.start(ctx); err != nil {
		return err
	}
	return r.isOurs(ctx)
}

// isOurs checks that the server that answers is the new process, and not another one that took the
// port.
func (r *Redis) isOurs(ctx context.Context) error {
	cl := r.Client()
	defer func() { _ = cl.Close() }() // it was only read from
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
