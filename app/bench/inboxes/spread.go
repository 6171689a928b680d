package inboxes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/internal/watch"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query"
)

// spread is a cluster of two nodes in this process, without brokers: partition p is folded and
// served by node p mod 2.
type spread struct {
	parts []*projections.Partition
	nodes [2]spreadNode
	http  []*http.Server
	cache *pebble.Cache
}

// spreadNode is a query.Node. It finds owners as a processor does: behind a lock, in a map.
type spreadNode struct {
	*spread
	number int32
	url    string
}

func (n *spreadNode) Partitions() int32 { return int32(len(n.parts)) }

func (n *spreadNode) Live(p int32) (*projections.Partition, error) {
	if p%2 != n.number {
		return nil, errElsewhere
	}
	return n.parts[p], nil
}

var errElsewhere = errors.New("it is on the other node")

func (n *spreadNode) Wait(context.Context, int32, events.Input, int64) error { return nil }
func (n *spreadNode) Owner(_ context.Context, p int32) (string, error)       { return n.nodes[p%2].url, nil }
func (n *spreadNode) RelayKey(url string) string                             { return "the key of " + url }
func (n *spreadNode) MayHold(int32, uint64) bool                             { return true }
func (n *spreadNode) Arrivals(string) watch.Arrivals                         { return nil }
func (n *spreadNode) Watch(int32, string) (watch.Watcher, error)             { return nil, errElsewhere }

// startSpread opens partitions in memory, and two nodes that serve them.
func startSpread(partitions int) (_ *spread, err error) {
	s := &spread{cache: pebble.NewCache(64 << 20)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	fs := vfs.NewMem()
	for p := range partitions {
		id := projections.Identity{ClusterID: "bench", Partition: int32(p), Partitions: int32(partitions), Settings: projections.DefaultSettings()}
		for in := range id.Topics {
			id.Topics[in].Name = events.InputTopics[in]
		}
		part, err := projections.Open(fmt.Sprintf("p%d", p), id, projections.Options{FS: fs, Cache: s.cache, MemTableSize: 64 << 10})
		if err != nil {
			return s, err
		}
		s.parts = append(s.parts, part)
	}
	secrets, err := spreadSecrets()
	if err != nil {
		return s, err
	}
	var listeners [2]net.Listener
	for i := range s.nodes {
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return s, err
		}
		s.nodes[i] = spreadNode{spread: s, number: int32(i), url: "http://" + listeners[i].Addr().String()}
	}
	for i := range s.nodes {
		srv := edge.NewServer(query.Handler(query.Config{
			Node: &s.nodes[i], Self: s.nodes[i].url, Logger: slog.New(slog.DiscardHandler), Peers: peer.Proof{Secrets: secrets},
		}))
		s.http = append(s.http, srv)
		go func() { _ = srv.Serve(listeners[i]) }() // ends with close
	}
	return s, nil
}

// spreadSecrets returns the secrets with which the two nodes prove to each other that they belong
// to one cluster.
func spreadSecrets() (*peer.Secrets, error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "peers")
	if err := os.WriteFile(file, []byte(strings.Repeat("secret of a bench ", 4)+"\n"), 0o600); err != nil {
		return nil, err
	}
	return peer.OpenSecrets(file, slog.New(slog.DiscardHandler))
}

func (s *spread) close() (err error) {
	for _, srv := range s.http {
		err = errors.Join(err, srv.Close())
	}
	for _, p := range s.parts {
		p.Lock()
		err = errors.Join(err, p.Close())
		p.Unlock()
	}
	s.cache.Unref()
	return err
}

// message folds a message event.
func (s *spread) message(m *events.Message) {
	p := s.parts[events.PartitionOf(m.ChannelID, int32(len(s.parts)))]
	p.Lock()
	defer p.Unlock()
	at := p.Position()[events.Messages]
	p.FoldMessage(m, at, spreadTime+at)
}

const spreadTime = 1_790_000_000_000 // Unix milliseconds

func (s *spread) join(channel string, users ...string) {
	m := &events.Message{Kind: events.KindMembersJoined, ChannelID: []byte(channel), OccurredAt: spreadTime}
	for _, u := range users {
		m.IDs = append(m.IDs, []byte(u))
	}
	s.message(m)
}

func (s *spread) post(channel, id, sender string) {
	s.message(&events.Message{
		Kind: events.KindMessagePosted, ChannelID: []byte(channel), MessageID: []byte(id), SenderID: []byte(sender),
		Preview: []byte("what was said in " + id), OccurredAt: spreadTime,
	})
}

func (s *spread) read(channel, user string) {
	p := s.parts[events.PartitionOf([]byte(channel), int32(len(s.parts)))]
	p.Lock()
	defer p.Unlock()
	at := p.Position()[events.Reads]
	p.FoldRead(&events.Read{
		Kind: events.KindReadUpTo, ChannelID: []byte(channel), UserID: []byte(user), Target: events.TargetSeq, Seq: 1, OccurredAt: spreadTime,
	}, at, spreadTime+at)
}
