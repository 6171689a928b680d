package verbs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/app/admin"
	"github.com/tidemark/tidemark/app/travel"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
	"github.com/tidemark/tidemark/snapshot"
)

// PastFlags choose who folds the records for a query about the past: the node, or with --offline
// this process.
type PastFlags struct {
	Offline bool `help:"Fold in this process, from the brokers and snapshots. By default the node folds, which needs a token of scope admin."`
	BrokersFlags
	TopicsFlags
	SkipFlags
	FoldFlags
	Snapshots string `placeholder:"URL" help:"Where snapshots are that the fold may begin with: file:///dir, s3://bucket/prefix, gs://bucket/prefix or az://account/container/prefix."`
	TempDir   string `placeholder:"DIR" help:"Directory to fold in, which is emptied again (by default the system's temporary directory)."`
}

// Guide answers questions about the past in this process.
func (f *PastFlags) Guide(a *App) (*travel.Guide, error) {
	kafka, err := f.Kafka()
	if err != nil {
		return nil, err
	}
	skip, err := f.Skips()
	if err != nil {
		return nil, err
	}
	dir := f.TempDir
	if dir == "" {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("tidemark-%d", os.Getuid()))
	}
	c := travel.Config{
		Fold:       processor.Config{Brokers: kafka.Brokers, ClientOptions: kafka.Options, Topics: f.Topics(), Settings: f.Settings(), Skip: skip, DataDir: dir},
		Everywhere: true, Report: NewProgress(a, "folding").Rebuild, Logger: slog.New(slog.DiscardHandler),
	}
	if f.Snapshots != "" {
		if c.Snapshots, err = (BucketFlags{Snapshots: f.Snapshots}).Open(snapshot.Options{}); err != nil {
			return nil, err
		}
	}
	return travel.New(c), f.Reachable(a)
}

// Readable formats an error of a Guide of this process for people.
func (f *PastFlags) Readable(err error) error {
	var answer *connect.Error
	if errors.As(err, &answer) {
		return errors.New(answer.Message())
	}
	return err
}

// ServiceAt is the client of the node's query API as of a moment.
func (f *NodeFlags) ServiceAt(m travel.Moment) queryv1connect.QueryServiceClient {
	token, _ := f.token() // Validate has read the file
	return queryv1connect.NewQueryServiceClient(f.http(), f.Addr+admin.PathAt, connect.WithInterceptors(bearer(token), travel.AtHeader(m)))
}

// Admin is the client of the node's calls for operators.
func (f *NodeFlags) Admin() *admin.Client {
	token, _ := f.token() // Validate has read the file
	return &admin.Client{URL: f.Addr, Token: token, HTTP: f.http()}
}
