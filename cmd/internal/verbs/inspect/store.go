package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/projections"
)

type storeCmd struct {
	verbs.JSONFlag
	lookFlags
	Dir string `arg:"" placeholder:"DIR" help:"Directory of one partition's store, or a data directory with several."`
}

func (storeCmd) Help() string {
	return `
Shows a store's header, counts its records by kind, and checks its digest against all of them. With --channel or --user it shows
instead what a reader of that store would see. It prints ids, numbers and times, never the text of messages. The store must not be
in use: query the node that uses it (tidemark query), inspect a snapshot (tidemark inspect snapshot), or stop the node.

Example:

    tidemark inspect store tidemark-data/partition-3
    tidemark inspect store tidemark-data
    tidemark inspect store tidemark-data --channel general
    tidemark inspect store tidemark-data --user ann --channel general --json`
}

// Validate checks the numbers, and that the argument is a directory.
func (c *storeCmd) Validate() error {
	if strings.Contains(c.Dir, "://") {
		return fmt.Errorf("%s is a URL of snapshots, not a directory: use `tidemark inspect snapshot %s`", c.Dir, c.Dir)
	}
	return c.check()
}

// StoreInfo is a store as JSON.
type StoreInfo struct {
	Dir        string        `json:"dir"`
	Format     uint64        `json:"format"`
	Fold       uint64        `json:"fold"`
	Cluster    string        `json:"cluster"`
	Topics     []topicInfo   `json:"topics"`
	Partition  int32         `json:"partition"`
	Partitions int32         `json:"partitions"`
	Settings   settingsInfo  `json:"settings"`
	Digest     string        `json:"digest"`
	Records    []recordCount `json:"records"`
	Empty      bool          `json:"empty,omitempty"`
	Error      string        `json:"error,omitempty"`
}

type topicInfo struct {
	Name     string     `json:"name"`
	ID       string     `json:"id"`
	Position int64      `json:"position"`
	LogTime  *time.Time `json:"log_time,omitempty"`
}

type settingsInfo struct {
	FanoutLimit         uint32 `json:"fanout_limit"`
	ReceiptLimit        uint32 `json:"receipt_limit"`
	SendMarksRead       bool   `json:"send_marks_read"`
	IndexRetentionHours int64  `json:"index_retention_hours"`
	TrimLog             bool   `json:"trim_log,omitempty"`
}

// String is the settings as flags of run name them.
func (s settingsInfo) String() string {
	return projections.Settings{
		FanoutLimit: s.FanoutLimit, ReceiptLimit: s.ReceiptLimit, SendMarksRead: s.SendMarksRead,
		IndexRetention: s.IndexRetentionHours * time.Hour.Milliseconds(), TrimLog: s.TrimLog,
	}.String()
}

type recordCount struct {
	Kind       string `json:"kind"`
	Count      int64  `json:"count"`
	KeyBytes   int64  `json:"key_bytes"`
	ValueBytes int64  `json:"value_bytes"`
}

// Run prints each store. For a damaged store it prints the readable parts before the error.
func (c *storeCmd) Run(a *verbs.App) error {
	dirs, err := c.stores()
	if err != nil {
		return err
	}
	if c.asked() {
		return c.lookInto(a, dirs)
	}
	var errs []error
	for i, dir := range dirs {
		x, err := projections.Inspect(dir, nil)
		if verbs.IsInUse(err) {
			return verbs.InUse(dir, err)
		}
		if errors.Is(err, projections.ErrEmpty) {
			err = c.printEmpty(a, dir)
		}
		errs = append(errs, err)
		if x == nil {
			continue
		}
		if i > 0 && !c.JSON {
			fmt.Fprintln(a.Stdout)
		}
		info := newStoreInfo(dir, x, err)
		if c.JSON {
			err = term.PrintJSON(a.Stdout, info)
		} else {
			err = info.print(a)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// lookInto answers from the stores that may hold the channel or user, without changing them.
func (c *storeCmd) lookInto(a *verbs.App, dirs []string) error {
	found := newFound(a, &c.lookFlags, c.JSON)
	var others []string
	for _, dir := range dirs {
		x, err := projections.InspectHeader(dir, nil)
		switch {
		case verbs.IsInUse(err):
			return verbs.InUse(dir, err)
		case errors.Is(err, projections.ErrEmpty):
			continue
		case err != nil:
			return err
		}
		if id := x.Identity; !c.mayKnow(id.Partition, id.Partitions) {
			others = append(others, fmt.Sprintf("channel %q is in partition %d of %d, and %s holds partition %d", c.Channel,
				events.PartitionOf([]byte(c.Channel), id.Partitions), id.Partitions, dir, id.Partition))
			continue
		}
		if err := found.in(dir, dir); err != nil {
			return err
		}
	}
	return found.end(others)
}

// printEmpty prints a store that was made and never written.
func (c *storeCmd) printEmpty(a *verbs.App, dir string) error {
	if c.JSON {
		return term.PrintJSON(a.Stdout, StoreInfo{Dir: dir, Empty: true, Topics: []topicInfo{}, Records: []recordCount{}})
	}
	_, err := fmt.Fprintf(a.Stdout, "store  %s\nempty: nothing was ever written to it\n", dir)
	return err
}

// stores returns the directories to inspect: the given one, or the stores in it.
func (c *storeCmd) stores() ([]string, error) {
	stores, err := verbs.StoresIn(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("no store at %s: %w", c.Dir, err)
	}
	dirs := slices.Collect(maps.Values(stores))
	if len(dirs) > 0 {
		slices.SortFunc(dirs, byNumber)
		return dirs, nil
	}
	// Opening a directory that is no store would leave a lock file in it.
	if found, err := filepath.Glob(filepath.Join(c.Dir, "marker.manifest.*")); err != nil || len(found) == 0 {
		return nil, fmt.Errorf("%s is not a store: it has no manifest", c.Dir)
	}
	return []string{c.Dir}, nil
}

// byNumber orders partition-2 before partition-10: names of one directory that differ in a number
// at their end.
func byNumber(x, y string) int {
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
}

func newStoreInfo(dir string, x *projections.Inspection, err error) StoreInfo {
	s := x.Identity.Settings
	info := StoreInfo{
		Dir: dir, Format: x.Format, Fold: x.Fold, Cluster: x.Identity.ClusterID, Partition: x.Identity.Partition,
		Partitions: x.Identity.Partitions, Digest: fmt.Sprintf("%x", x.Digest), Records: []recordCount{},
		Settings: settingsInfo{s.FanoutLimit, s.ReceiptLimit, s.SendMarksRead, s.IndexRetention / time.Hour.Milliseconds(), s.TrimLog},
	}
	for in := range events.Input(events.NumInputs) {
		t := topicInfo{Name: x.Identity.Topics[in].Name, ID: fmt.Sprintf("%x", x.Identity.Topics[in].ID), Position: x.Position[in]}
		t.LogTime = instant(x.LogTimes[in])
		info.Topics = append(info.Topics, t)
	}
	for _, r := range x.Records {
		info.Records = append(info.Records, recordCount(r))
	}
	if err != nil {
		info.Error = err.Error()
	}
	return info
}

func (s *StoreInfo) print(a *verbs.App) error {
	f := term.NewFields(a.Stdout)
	f.Add("store", s.Dir)
	f.Add("partition", fmt.Sprintf("%d of %d", s.Partition, s.Partitions))
	f.Add("format", fmt.Sprintf("%d, fold %d", s.Format, s.Fold))
	f.Add("cluster", s.Cluster)
	f.Add("settings", s.Settings)
	digest := s.Digest + " (checked)"
	if s.Error != "" {
		digest = s.Digest
	}
	f.Add("digest", digest)
	if err := f.Print(); err != nil {
		return err
	}
	topics := term.NewTable("TOPIC", "NEXT OFFSET>", "LOG TIME", "ID")
	for _, t := range s.Topics {
		at := ""
		if t.LogTime != nil {
			at = t.LogTime.Local().Format("2006-01-02 15:04:05.000")
		}
		topics.Row(t.Name, t.Position, at, t.ID)
	}
	fmt.Fprintln(a.Stdout)
	if err := topics.Print(a.Stdout); err != nil {
		return err
	}
	records := term.NewTable("RECORDS", "COUNT>", "KEYS>", "VALUES>")
	var total recordCount
	for _, r := range s.Records {
		total.Count += r.Count
		total.KeyBytes += r.KeyBytes
		total.ValueBytes += r.ValueBytes
		if r.Count > 0 {
			records.Row(r.Kind, r.Count, config.Bytes(r.KeyBytes), config.Bytes(r.ValueBytes))
		}
	}
	records.Row("all", total.Count, config.Bytes(total.KeyBytes), config.Bytes(total.ValueBytes))
	fmt.Fprintln(a.Stdout)
	return records.Print(a.Stdout)
}
