package config

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Redis configures connections to Redis.
type Redis struct {
	URL          string // redis://[user@]host:port[/db], rediss:// for TLS, unix:///path
	PasswordFile string // file with the password, if any, without the line break at its end
	CAFile       string // PEM file of the authorities that rediss:// trusts instead of the system's
}

// Options returns the options of a client. It accepts a password in the URL: code that fills URL
// from a command line checks PasswordInURL first.
func (r Redis) Options() (*redis.Options, error) {
	o, err := redis.ParseURL(r.URL)
	if err != nil {
		return nil, fmt.Errorf("--redis %q is not the address of a Redis (%s): write it as redis://127.0.0.1:6379",
			Redacted(r.URL), strings.TrimPrefix(Redacted(err.Error()), "redis: "))
	}
	if r.PasswordFile != "" {
		b, err := os.ReadFile(r.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("password of Redis: %w", err)
		}
		o.Password = strings.TrimRight(string(b), "\r\n")
	}
	switch {
	case o.TLSConfig != nil:
		c, err := TLS{CAFile: r.CAFile, ServerName: o.TLSConfig.ServerName}.Config()
		if err != nil {
			return nil, fmt.Errorf("TLS to Redis: %w", err)
		}
		o.TLSConfig = c
	case r.CAFile != "":
		return nil, fmt.Errorf("--redis-ca is for TLS, but --redis %s is not: write it as rediss://", Redacted(r.URL))
	}
	return o, nil
}

// PasswordInURL reports whether a URL has a password.
func PasswordInURL(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

// Redacted returns a URL without its password, for logs.
func Redacted(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return raw
	}
	return u.Redacted()
}
