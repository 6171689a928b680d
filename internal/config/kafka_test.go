package config

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

func TestClientSaysWhenNobodyAnswers(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close() // nobody listens now
	_, err = Kafka{Brokers: []string{addr}}.Client(t.Context(), time.Minute)
	if err == nil || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "--brokers") {
		t.Errorf("a closed port: %v", err)
	}
	if _, err := (Kafka{}).Client(t.Context(), time.Second); err == nil || !strings.Contains(err.Error(), "--brokers") {
		t.Errorf("no brokers: %v", err)
	}
}

func TestClientGivesASilentBrokerUp(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	begun := time.Now()
	_, err = Kafka{Brokers: []string{ln.Addr().String()}}.Client(t.Context(), 200*time.Millisecond)
	if err == nil || time.Since(begun) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(begun), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Kafka{Brokers: []string{ln.Addr().String()}}).Client(ctx, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestClientConnects(t *testing.T) {
	cl, err := Kafka{Brokers: testkit.FakeKafka(t).ListenAddrs()}.Client(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	cl.Close()
}
