package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/internal/rebuild"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

type replayCmd struct {
	brokersFlags
	topicsFlags
	foldFlags
	skipFlags
	partitionsFlags
	jsonFlag
	Group     string `default:"tidemark" placeholder:"NAME" help:"Consumer group of the node: the stores end where it has published; at the end of the logs if it never did (${default})."`
	DataDir   string `default:"tidemark-data" placeholder:"DIR" help:"Data directory of the node (${default})."`
	Into      string `placeholder:"DIR" help:"Where the rebuilt stores go: an empty directory, on the same disk if they are to be swapped in; by default rebuilt in --data-dir."`
	Parallel  int    `default:"0" placeholder:"N" help:"How many partitions are rebuilt at the same time; 0 = as many as there are processors (${default}). Each needs the memory of a live one."`
	Resume    bool   `help:"Go on with the stores that are in --into: of a replay that was interrupted, or of a snapshot."`
	Swap      bool   `help:"When all is rebuilt, put it in the place of the stores in --data-dir, which are moved aside. The node must be stopped."`
	AcceptGap bool   `help:"Where the beginning of a log is gone, begin at what is there: the counts are those of what is there."`
}

// partitionsFlags choose partitions.
type partitionsFlags struct {
	Partition []int32 `placeholder:"P" help:"Only these partitions."`
}

func (replayCmd) Help() string {
	return `
Rebuilds the stores of partitions from the topics, without publishing anything: into a directory of its own, while the node
goes on. With --swap the result takes the place of the node's stores, one rename for each partition, and the old ones stay in
a directory replaced-TIME; that is refused while a node uses them. Stores end where the node's group has published, for what is
beyond that the node tells when it folds it. The node then opens where it had stopped.

Example:

    tidemark replay --brokers kafka-1:9092 --data-dir /var/lib/tidemark
    tidemark replay --data-dir /var/lib/tidemark --partition 3 --swap`
}

// Validate checks the numbers.
func (c *replayCmd) Validate() error {
	if c.Parallel < 0 {
		return fmt.Errorf("--parallel %d: it must not be negative", c.Parallel)
	}
	return nil
}

// rebuiltInfo is one rebuilt partition as JSON.
type rebuiltInfo struct {
	Partition int32    `json:"partition"`
	Dir       string   `json:"dir"`
	From      [3]int64 `json:"from"`
	Position  [3]int64 `json:"position"`
	Digest    string   `json:"digest,omitempty"`
	Swapped   bool     `json:"swapped"`
	Error     string   `json:"error,omitempty"`
}

// Run rebuilds, prints what came of each partition, and swaps if all went well.
func (c *replayCmd) Run(a *app) error {
	into := c.Into
	if into == "" {
		into = filepath.Join(c.DataDir, "rebuilt")
	}
	if same, err := sameDir(into, c.DataDir); err != nil || same {
		return errors.Join(err, usagef("--into and --data-dir are the same directory: name an empty one"))
	}
	kafka, err := c.kafka()
	if err != nil {
		return err
	}
	skip, err := c.skips()
	if err != nil {
		return err
	}
	published, err := c.published(a)
	if err != nil {
		return err
	}
	began := time.Now()
	meter := newProgress(a, "replay")
	list, err := processor.Rebuild(a.ctx, processor.RebuildConfig{
		Config: processor.Config{Brokers: c.Brokers, ClientOptions: kafka.Options, Topics: c.topics(), DataDir: into, Settings: c.settings(), Skip: skip,
			Logger: slog.New(slog.DiscardHandler)},
		Partitions: c.Partition, Until: published, Parallel: c.Parallel, Resume: c.Resume, AcceptGap: c.AcceptGap, Report: meter.rebuild,
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	var errs []error
	var numbers []int32
	var records int64
	stores := map[int32]projections.Position{}
	for _, r := range list {
		stores[r.Partition] = r.Until
		errs = append(errs, r.Err)
		numbers = append(numbers, r.Partition)
		for i := range r.Until {
			records += r.Until[i] - r.From[i]
		}
	}
	failed := errors.Join(errs...)
	if c.Swap || c.Resume {
		if err := rebuild.Tellable(stores, c.Group, published); err != nil {
			return fmt.Errorf("nothing was swapped in: %w", err)
		}
	}
	aside := rebuild.Aside(c.DataDir, time.Now())
	swapped := false
	if failed == nil && c.Swap {
		if err := rebuild.Swap(c.DataDir, into, numbers, aside); err != nil {
			return fmt.Errorf("rebuilt, and not swapped in: %w; the result is in %s", err, into)
		}
		swapped = true
	}
	if err := c.print(a, list, swapped); err != nil || c.JSON {
		return errors.Join(err, failed)
	}
	if failed != nil {
		return fmt.Errorf("not all partitions were rebuilt: %w", failed)
	}
	fmt.Fprintf(a.stdout, "\n%s, %s in %s (%.0f/s)\n", plural(len(list), "partition"), plural(records, "record"),
		took.Round(10*time.Millisecond), float64(records)/took.Seconds())
	switch _, err := os.Stat(aside); {
	case !swapped:
		fmt.Fprintf(a.stdout, "rebuilt in %s; --resume --swap puts it in the place of the stores in %s\n", into, c.DataDir)
	case err == nil:
		fmt.Fprintf(a.stdout, "swapped in; the stores of before are in %s and may be removed\n", aside)
	default:
		fmt.Fprintf(a.stdout, "swapped in; there were no stores of before\n")
	}
	return nil
}

// published asks up to where the node's group has published.
func (c *replayCmd) published(a *app) (map[int32]projections.Position, error) {
	cl, err := c.client(a)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return rebuild.Published(a.ctx, kadm.NewClient(cl), c.Group, c.topics().Inputs)
}

// reachable says that no broker answers, rather than wait for one.
func (f brokersFlags) reachable(a *app) error {
	cl, err := f.client(a)
	if err == nil {
		cl.Close()
	}
	return err
}

func (c *replayCmd) print(a *app, list []processor.Rebuilt, swapped bool) error {
	t := newTable("PARTITION>", "RECORDS>", "POSITION", "DIGEST")
	for _, r := range list {
		info := rebuiltInfo{Partition: r.Partition, Dir: r.Dir, From: r.From, Position: r.Until, Swapped: swapped}
		var records int64
		for i := range r.Until {
			records += r.Until[i] - r.From[i]
		}
		if r.Err != nil {
			info.Error = r.Err.Error()
			t.row(r.Partition, records, fmt.Sprint(r.Until), "failed: "+info.Error)
		} else {
			info.Digest = fmt.Sprintf("%x", r.Digest)
			t.row(r.Partition, records, fmt.Sprint(r.Until), info.Digest)
		}
		if c.JSON {
			if err := printJSON(a.stdout, info); err != nil {
				return err
			}
		}
	}
	if c.JSON {
		return nil
	}
	return t.print(a.stdout)
}

// sameDir reports whether two paths are one directory. What is not there yet is no other.
func sameDir(x, y string) (bool, error) {
	ix, errX := os.Stat(x)
	iy, errY := os.Stat(y)
	if errX == nil && errY == nil {
		return os.SameFile(ix, iy), nil
	}
	ax, err := filepath.Abs(x)
	if err != nil {
		return false, err
	}
	ay, err := filepath.Abs(y)
	return ax == ay, err
}
