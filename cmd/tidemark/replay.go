package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

type replayCmd struct {
	verbs.BrokersFlags
	verbs.TopicsFlags
	verbs.FoldFlags
	verbs.SkipFlags
	verbs.PartitionsFlags
	verbs.JSONFlag
	verbs.YesFlag
	Group     string `default:"tidemark" placeholder:"NAME" help:"Consumer group of the node: the stores end at its committed offsets, or at the end of the logs if it has none (${default})."`
	DataDir   string `default:"tidemark-data" placeholder:"DIR" help:"Data directory of the node (${default})."`
	Into      string `placeholder:"DIR" help:"Directory for the rebuilt stores: empty, and on the same disk if you want to swap them in. By default rebuilt in --data-dir."`
	Parallel  int    `default:"0" placeholder:"N" help:"How many partitions to rebuild at the same time; 0 = one per processor (${default}). Each needs the memory of a live one."`
	Resume    bool   `help:"Continue with the stores in --into: those of an interrupted replay, or of a snapshot."`
	Swap      bool   `env:"-" help:"When all stores are rebuilt, move those in --data-dir aside and put the new ones in their place. The node must be stopped."`
	AcceptGap bool   `env:"-" help:"If the beginning of a log is gone, begin at its first record: the counts then cover only the records that are left."`
}

func (replayCmd) Help() string {
	return `
Rebuilds the stores of partitions from the topics, into a separate directory, while the node runs. It publishes nothing. With
--swap the result replaces the node's stores, with one rename per partition, and the old ones stay in a directory replaced-TIME; a
swap is refused while a node uses the stores. A rebuilt store ends at the group's committed offsets, because the node publishes
changes only for records that it folds itself. The node then continues there.

Example:

    tidemark replay --brokers kafka-1:9092 --data-dir /var/lib/tidemark
    tidemark replay --data-dir /var/lib/tidemark --partition 3 --swap --yes`
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

// Run rebuilds, prints the result of each partition, and swaps if all succeeded.
func (c *replayCmd) Run(a *verbs.App) error {
	into := c.Into
	if into == "" {
		into = filepath.Join(c.DataDir, "rebuilt")
	}
	if same, err := sameDir(into, c.DataDir); err != nil || same {
		return errors.Join(err, verbs.Usagef("--into and --data-dir are the same directory: name an empty one"))
	}
	if c.Swap {
		if err := c.Confirm(a, "replaces the stores in "+c.DataDir+" with the rebuilt ones"); err != nil {
			return err
		}
	}
	kafka, err := c.Kafka()
	if err != nil {
		return err
	}
	skip, err := c.Skips()
	if err != nil {
		return err
	}
	published, err := c.published(a)
	if err != nil {
		return err
	}
	if c.Swap {
		if err := rebuild.SameSettings(c.DataDir, c.Settings()); err != nil {
			return err
		}
	}
	began := time.Now()
	meter := verbs.NewProgress(a, "replay")
	list, err := processor.Rebuild(a.Ctx, processor.RebuildConfig{
		Config: processor.Config{Brokers: c.Brokers, ClientOptions: kafka.Options, Topics: c.Topics(), DataDir: into, Settings: c.Settings(), Skip: skip,
			Logger: slog.New(slog.DiscardHandler)},
		Partitions: c.Partition, Until: published, Parallel: c.Parallel, Resume: c.Resume, AcceptGap: c.AcceptGap, Report: meter.Rebuild,
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
			return fmt.Errorf("rebuilt but not swapped in: %w; the result is in %s", err, into)
		}
		swapped = true
	}
	if err := c.print(a, list, swapped); err != nil || c.JSON {
		return errors.Join(err, failed)
	}
	if failed != nil {
		return fmt.Errorf("not all partitions were rebuilt: %w", failed)
	}
	fmt.Fprintf(a.Stdout, "\n%s, %s in %s (%.0f/s)\n", term.Plural(len(list), "partition"), term.Plural(records, "record"),
		took.Round(10*time.Millisecond), float64(records)/took.Seconds())
	switch _, err := os.Stat(aside); {
	case !swapped:
		fmt.Fprintf(a.Stdout, "rebuilt in %s; --resume --swap moves the result into the place of the stores in %s\n", into, c.DataDir)
	case err == nil:
		fmt.Fprintf(a.Stdout, "swapped in; the old stores are in %s and may be removed\n", aside)
	default:
		fmt.Fprintf(a.Stdout, "swapped in; there were no old stores\n")
	}
	return nil
}

// published requests the committed offsets of the node's group.
func (c *replayCmd) published(a *verbs.App) (map[int32]projections.Position, error) {
	cl, err := c.Client(a)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return rebuild.Published(a.Ctx, kadm.NewClient(cl), c.Group, c.Topics().Inputs)
}

func (c *replayCmd) print(a *verbs.App, list []processor.Rebuilt, swapped bool) error {
	t := term.NewTable("PARTITION>", "RECORDS>", "POSITION", "DIGEST")
	for _, r := range list {
		info := rebuiltInfo{Partition: r.Partition, Dir: r.Dir, From: r.From, Position: r.Until, Swapped: swapped}
		var records int64
		for i := range r.Until {
			records += r.Until[i] - r.From[i]
		}
		if r.Err != nil {
			info.Error = r.Err.Error()
			t.Row(r.Partition, records, fmt.Sprint(r.Until), "failed: "+info.Error)
		} else {
			info.Digest = fmt.Sprintf("%x", r.Digest)
			t.Row(r.Partition, records, fmt.Sprint(r.Until), info.Digest)
		}
		if c.JSON {
			if err := term.PrintJSON(a.Stdout, info); err != nil {
				return err
			}
		}
	}
	if c.JSON {
		return nil
	}
	return t.Print(a.Stdout)
}

// sameDir reports whether two paths are one directory. A path that does not exist yet is never the
// same.
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
