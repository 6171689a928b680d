package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// KafkaSecurity sets the security of connections to brokers: TLS and the login.
type KafkaSecurity struct {
	UseTLS bool
	TLS    TLS
	// SASL is empty, plain, scram-sha-256 or scram-sha-512. Plain sends the password itself, so it
	// needs TLS.
	SASL         string
	User         string
	Password     string
	PasswordFile string // instead of Password, without the line break at its end
}

// Options returns the options of a client.
func (k KafkaSecurity) Options() ([]kgo.Opt, error) {
	var opts []kgo.Opt
	if k.UseTLS {
		c, err := k.TLS.Config()
		if err != nil {
			return nil, fmt.Errorf("TLS to Kafka: %w", err)
		}
		opts = append(opts, kgo.DialTLSConfig(c))
	} else if k.TLS != (TLS{}) {
		return nil, errors.New("files for TLS to Kafka are named, but it is not turned on: add --kafka-tls")
	}
	if k.SASL == "" {
		if k.User != "" || k.PasswordFile != "" {
			return nil, errors.New("a user of Kafka is named, but not how to log in: add --kafka-sasl")
		}
		return opts, nil
	}
	password, err := k.password()
	if err != nil {
		return nil, err
	}
	if k.User == "" || password == "" {
		return nil, fmt.Errorf("--kafka-sasl %s needs --kafka-user, and a password in $TIDEMARK_KAFKA_PASSWORD or a file for --kafka-password-file", k.SASL)
	}
	switch k.SASL {
	case "plain":
		if !k.UseTLS {
			return nil, errors.New("--kafka-sasl plain would send the password in the clear: add --kafka-tls, or use scram-sha-512")
		}
		return append(opts, kgo.SASL(plain.Auth{User: k.User, Pass: password}.AsMechanism())), nil
	case "scram-sha-256":
		return append(opts, kgo.SASL(scram.Auth{User: k.User, Pass: password}.AsSha256Mechanism())), nil
	case "scram-sha-512":
		return append(opts, kgo.SASL(scram.Auth{User: k.User, Pass: password}.AsSha512Mechanism())), nil
	}
	return nil, fmt.Errorf("--kafka-sasl %q is not known: there are plain, scram-sha-256 and scram-sha-512", k.SASL)
}

func (k KafkaSecurity) password() (string, error) {
	if k.PasswordFile == "" {
		return k.Password, nil
	}
	b, err := os.ReadFile(k.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("password of Kafka: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}
