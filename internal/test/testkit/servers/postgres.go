package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres is a running PostgreSQL with a directory of its own. Its superuser and its database are
// called tidemark. The superuser needs no password.
type Postgres struct {
	guard *guard
	proc  *process
}

// StartPostgres starts a PostgreSQL on a free port of 127.0.0.1 and returns when it accepts
// connections, after about two seconds. Close ends it. The server refuses to run as root, so for
// root it runs as the user postgres, which Debian's package creates.
func StartPostgres(ctx context.Context) (*Postgres, error) {
	for try := 1; ; try++ {
		p, err := startPostgres(ctx)
		if errors.Is(err, errPortTaken) && try < 3 {
			continue
		}
		return p, err
	}
}

func startPostgres(ctx context.Context) (_ *Postgres, err error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	dir, g, err := guardedDir("postgres")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.release())
		}
	}()
	as, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	initdb, err := postgresProgram("initdb")
	if err != nil {
		return nil, err
	}
	server, err := postgresProgram("postgres")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	argv := append(append([]string{}, as...), initdb, "-D", data, "-A", "trust", "-U", "tidemark", "-E", "UTF8", "--locale=C", "--no-sync")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	argv = append(append([]string{}, as...), server, "-D", data, "-p", strconv.Itoa(ports[0]), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "wal_level=logical", "-c", "max_connections=40")
	addr := "127.0.0.1:" + strconv.Itoa(ports[0])
	p := &Postgres{guard: g, proc: &process{name: "postgres", argv: argv, dir: dir, addr: addr, guard: g}}
	if err := p.proc.start(ctx); err != nil {
		return nil, err
	}
	return p, p.awaitReady(ctx)
}

// awaitReady waits until the server answers. During its start the server accepts connections but
// refuses queries.
func (p *Postgres) awaitReady(ctx context.Context) error {
	for {
		conn, err := pgx.Connect(ctx, p.DSN("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not start: %w; the end of its log:\n%s", err, p.proc.logTail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// unprivileged gives dir to a user that PostgreSQL may run as, and returns the command prefix that
// switches to that user. It returns nothing if this process does not run as root.
func unprivileged(dir string) ([]string, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres: %w; on Debian `apt-get install postgresql` makes one", err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, fmt.Errorf("directory of PostgreSQL: %w", err)
	}
	return []string{"setpriv", "--reuid=" + u.Uid, "--regid=" + u.Gid, "--clear-groups", "--"}, nil
}

// postgresProgram finds a program of PostgreSQL, in the PATH or in the folders of Debian's
// packages.
func postgresProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return lookPath(name, "PostgreSQL", "postgresql")
	}
	return found[len(found)-1], nil
}

// DSN returns the address of a database of the server.
func (p *Postgres) DSN(database string) string {
	return "postgres://tidemark@" + p.proc.addr + "/" + database
}

// Restart ends the server and starts it again with its data. Connections break off. Unless it is
// orderly, the server dies as it does when the machine loses power, and recovers.
func (p *Postgres) Restart(ctx context.Context, orderly bool) error {
	sig := syscall.SIGQUIT
	if orderly {
		sig = syscall.SIGINT
	}
	if err := p.proc.signalRunning(sig); err != nil {
		return err
	}
	select {
	case <-p.proc.done:
	case <-ctx.Done():
		return fmt.Errorf("PostgreSQL does not end: %w; the end of its log:\n%s", ctx.Err(), p.proc.logTail())
	}
	if err := p.proc.start(ctx); err != nil {
		return err
	}
	return p.awaitReady(ctx)
}

// Close ends the server and removes its directory. A killed server leaves a segment of shared
// memory behind, so Close asks it to stop first.
func (p *Postgres) Close() error {
	if p.proc.signalRunning(syscall.SIGINT) == nil {
		select {
		case <-p.proc.done:
		case <-time.After(stopGrace):
		}
	}
	return errors.Join(p.proc.kill(), p.guard.release())
}
