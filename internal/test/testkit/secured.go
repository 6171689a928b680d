package testkit

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

// Secured is a real Kafka and a real Redis of one test. Both use TLS and require a login, and users
// have only the rights that the test grants. Its methods fail the test on errors.
type Secured struct {
	// Brokers are the addresses for TLS and SCRAM-SHA-512. Open are the addresses at which the test
	// has all rights.
	Brokers, Open []string
	// RedisURL has no user: rediss://127.0.0.1:PORT.
	RedisURL string
	// Redis is a client with all rights.
	Redis *redis.Client
	// CAFile is the certificate authority of both.
	CAFile string

	t testing.TB
}

// SecuredServers starts them, which takes about 5 s, and ends them with the test.
func SecuredServers(t testing.TB) *Secured {
	t.Helper()
	NeedsServer(t)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cert, key, err := servers.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	s := &Secured{t: t, CAFile: file(t, "ca.pem", cert)}
	k, err := servers.StartKafka(ctx, servers.KafkaOptions{Cert: cert, Key: key})
	if err != nil {
		t.Fatalf("secured Kafka: %v", err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Errorf("end Kafka: %v", err)
		}
	})
	s.Brokers, s.Open = k.Secured(), k.Brokers()
	r, err := servers.StartSecuredRedis(ctx, servers.RedisSecurity{Cert: cert, Key: key, Admin: "secret"})
	if err != nil {
		t.Fatalf("secured Redis: %v", err)
	}
	s.Redis, s.RedisURL = r.Client(), "rediss://"+r.Addr()
	t.Cleanup(func() {
		_ = s.Redis.Close() // it was only read from
		if err := r.Close(); err != nil {
			t.Errorf("end Redis: %v", err)
		}
	})
	return s
}

// file writes a file of the test.
func file(t testing.TB, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// User creates a user of Kafka without rights, and returns a file with the password.
func (s *Secured) User(name string) (passwordFile string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	password := "password of " + name
	res, err := Admin(s.t, s.Open).AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{
		{User: name, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: password},
	})
	if err == nil {
		err = res.Error()
	}
	if err != nil {
		s.t.Fatalf("user %s of Kafka: %v", name, err)
	}
	return file(s.t, "password", []byte(password))
}

// Right is what a user of Kafka may do with one thing.
type Right struct {
	User     string
	Resource string // topic, group or cluster
	Name     string // of the topic or group
	Do       string // as Kafka writes it: Read, Write, Describe, …
}

// Allow gives rights.
func (s *Secured) Allow(rights ...Right) {
	s.t.Helper()
	s.each(rights, func(ctx context.Context, adm *kadm.Client, b *kadm.ACLBuilder) error {
		res, err := adm.CreateACLs(ctx, b)
		for _, r := range res {
			if err == nil {
				err = r.Err
			}
		}
		return err
	})
}

// Revoke takes them away.
func (s *Secured) Revoke(rights ...Right) {
	s.t.Helper()
	s.each(rights, func(ctx context.Context, adm *kadm.Client, b *kadm.ACLBuilder) error {
		res, err := adm.DeleteACLs(ctx, b)
		n := 0
		for _, r := range res {
			if err == nil {
				err = r.Err
			}
			n += len(r.Deleted)
		}
		if err == nil && n != 1 {
			s.t.Fatalf("%d rights were taken away, want one", n)
		}
		return err
	})
}

func (s *Secured) each(rights []Right, do func(context.Context, *kadm.Client, *kadm.ACLBuilder) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	adm := Admin(s.t, s.Open)
	for _, r := range rights {
		op, err := kmsg.ParseACLOperation(r.Do)
		if err != nil {
			s.t.Fatalf("right %q: %v", r.Do, err)
		}
		b := kadm.NewACLs().Allow("User:" + r.User).AllowHosts().Operations(op).ResourcePatternType(kadm.ACLPatternLiteral)
		switch r.Resource {
		case "topic":
			b.Topics(r.Name)
		case "group":
			b.Groups(r.Name)
		case "cluster":
			b.Clusters()
		default:
			s.t.Fatalf("right about a %q", r.Resource)
		}
		if err := do(ctx, adm, b); err != nil {
			s.t.Fatalf("right %+v: %v", r, err)
		}
	}
}
