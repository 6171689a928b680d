package servers

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// SynapseVersion is the version of Synapse that tests run against, as in tools/synapse.
const SynapseVersion = "1.163.2"

// SynapseSecret lets an administrator register users at a Synapse of the tests.
const SynapseSecret = "a secret of the tests"

// SynapsePython returns the Python of an environment with Synapse, tools/synapse/requirements.txt.
// When it is missing from the user's cache folder, venv and pip make it, once for all test
// binaries. That takes minutes.
func SynapsePython(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for Synapse: %w", err)
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	list := filepath.Join(root, "tools", "synapse", "requirements.txt")
	return pythonWith(ctx, filepath.Join(cache, "tidemark"), "synapse-"+SynapseVersion+"-", list)
}

// Synapse is a running Matrix server with a directory of its own. Its name is "here". It talks to
// no other server.
type Synapse struct {
	guard *guard
	proc  *process
}

// StartSynapse starts a Synapse on a free port of 127.0.0.1, on an empty database of a PostgreSQL,
// and returns when it answers, after about ten seconds. Close ends it.
func StartSynapse(ctx context.Context, dsn string) (*Synapse, error) {
	python, err := SynapsePython(ctx)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s, err := startSynapse(ctx, python, dsn)
		if errors.Is(err, errPortTaken) && try < 3 {
			continue
		}
		return s, err
	}
}

func startSynapse(ctx context.Context, python, dsn string) (_ *Synapse, err error) {
	database, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("database of Synapse: %w", err)
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	dir, g, err := guardedDir("synapse")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.release())
		}
	}()
	seed := make([]byte, 32)
	_, _ = rand.Read(seed) // never fails
	for name, text := range map[string]string{
		"signing.key":     "ed25519 a_test " + base64.RawStdEncoding.EncodeToString(seed) + "\n",
		"homeserver.yaml": fmt.Sprintf(synapseConf, ports[0], database.User, database.Database, database.Host, database.Port, SynapseSecret, dir),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("file of Synapse: %w", err)
		}
	}
	s := &Synapse{guard: g, proc: &process{
		name: "synapse", argv: []string{python, "-m", "synapse.app.homeserver", "-c", filepath.Join(dir, "homeserver.yaml")},
		dir: dir, addr: "127.0.0.1:" + strconv.Itoa(ports[0]), guard: g,
	}}
	return s, s.Start(ctx)
}

// synapseConf is homeserver.yaml: without rate limits and federation, and without access from
// outside.
const synapseConf = `server_name: here
listeners:
  - {port: %d, type: http, bind_addresses: [127.0.0.1], resources: [{names: [client]}]}
database:
  name: psycopg2
  args: {user: %q, dbname: %q, host: %q, port: %d, cp_min: 1, cp_max: 5}
registration_shared_secret: %q
macaroon_secret_key: tests
form_secret: tests
signing_key_path: %[7]s/signing.key
media_store_path: %[7]s/media
report_stats: false
trusted_key_servers: []
suppress_key_server_warning: true
federation_domain_whitelist: []
presence: {enabled: false}
bcrypt_rounds: 4
rc_message: &free {per_second: 100000, burst_count: 100000}
rc_registration: *free
rc_admin_redaction: *free
rc_room_creation: *free
rc_login: {address: *free, account: *free, failed_attempts: *free}
rc_joins: {local: *free, remote: *free}
rc_joins_per_room: *free
rc_invites: {per_room: *free, per_user: *free, per_issuer: *free}
`

// URL returns the address of the client API.
func (s *Synapse) URL() string { return "http://" + s.proc.addr }

// Start runs the server again after Kill, at the same address, and returns when it answers.
func (s *Synapse) Start(ctx context.Context) error {
	if err := s.proc.start(ctx); err != nil {
		return err
	}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/_matrix/client/versions", nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = res.Body.Close() // only the status counts
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("Synapse does not answer: %w; the end of its log:\n%s", ctx.Err(), s.proc.logTail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends the server with SIGTERM.
func (s *Synapse) Stop() error { return s.proc.stop() }

// Kill ends the server with SIGKILL.
func (s *Synapse) Kill() error { return s.proc.kill() }

// Close kills the server and removes its directory.
func (s *Synapse) Close() error { return errors.Join(s.proc.kill(), s.guard.release()) }
