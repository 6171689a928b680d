package inspect

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/cmd/internal/verbs/snapshots"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/snapshot"
)

type snapshotCmd struct {
	verbs.JSONFlag
	lookFlags
	URL       string  `arg:"" placeholder:"URL" help:"Where snapshots are: file:///dir, s3://bucket/prefix?endpoint=HOST:PORT&region=NAME, gs://bucket/prefix or az://account/container/prefix."`
	Partition []int32 `placeholder:"N" help:"Only these partitions."`
	At        string  `placeholder:"M-R-D" help:"The snapshot of this name instead of the newest. Needs one --partition."`
	Files     bool    `help:"List the files of each snapshot."`
	Tmp       string  `placeholder:"DIR" help:"Directory with room for the largest snapshot, for --channel and --user; by default the system's temporary directory."`
}

func (snapshotCmd) Help() string {
	return `
Shows the manifest of each partition's newest snapshot, without downloading the snapshot: its deployment, position, digest and
size, and the other snapshots. With --channel or --user it downloads the snapshots that may have them, checks everything in them,
shows what a reader would see, and removes the copies. It prints ids, numbers and times, never the text of messages. The node may
run.

Example:

    tidemark inspect snapshot s3://backups/tidemark
    tidemark inspect snapshot file:///mnt/backups --channel general --user ann
    tidemark inspect snapshot file:///mnt/backups --partition 3 --at 104000-99120-3000 --files --json`
}

// Validate checks that the flags fit together.
func (c *snapshotCmd) Validate() error {
	if c.At != "" && len(c.Partition) != 1 {
		return errors.New("--at names a snapshot of one partition: name the partition with --partition")
	}
	return c.check()
}

// SnapshotLook is the manifest of a snapshot, as JSON.
type SnapshotLook struct {
	snapshots.Info
	URL        string           `json:"url"`
	Manifest   string           `json:"manifest"` // its key
	Format     int              `json:"format"`
	Store      uint64           `json:"store_format"`
	Fold       uint64           `json:"fold"`
	Topics     []topicInfo      `json:"topics"`
	Settings   settingsInfo     `json:"settings"`
	TableFiles int              `json:"table_files"`
	TableBytes int64            `json:"table_bytes"`
	FileList   []snapshot.File  `json:"file_list,omitempty"`
	Others     []snapshots.Info `json:"others"` // of the same partition, the newest first
}

// Run goes through the partitions.
func (c *snapshotCmd) Run(a *verbs.App) error {
	b, err := snapshot.OpenBucket(c.URL)
	if err != nil {
		return verbs.Usagef("%v", err)
	}
	r := snapshot.New(b, snapshot.Options{})
	found := newFound(a, &c.lookFlags, c.JSON)
	var others []string
	first := true
	err = verbs.BucketFlags{Partition: c.Partition}.Each(a, r, func(n int32) error {
		list, err := r.List(a.Ctx, n)
		if err != nil {
			return err
		}
		e, err := c.pick(r, n, list)
		if err != nil {
			return err
		}
		m := e.Manifest
		switch {
		case !c.asked():
			if !first && !c.JSON {
				fmt.Fprintln(a.Stdout)
			}
			first = false
			return c.describe(a, r, e, list)
		case !c.mayKnow(n, m.Partitions):
			others = append(others, fmt.Sprintf("channel %q is in partition %d of %d, which was not requested or has no snapshot", c.Channel,
				events.PartitionOf([]byte(c.Channel), m.Partitions), m.Partitions))
			return nil
		}
		return c.lookInto(a, r, e, found)
	})
	if err == nil && c.asked() {
		err = found.end(others[:min(1, len(others))])
	}
	return err
}

// pick returns the requested snapshot, by default the newest that has a manifest.
func (c *snapshotCmd) pick(r *snapshot.Repository, n int32, list []snapshot.Entry) (*snapshot.Entry, error) {
	if c.At == "" {
		if len(list) == 0 {
			return nil, fmt.Errorf("there are files but no manifest in %s: the first snapshot was not finished", r)
		}
		return &list[0], list[0].Err // entries with an error come last: there is no other
	}
	at, err := snapshot.ParseName(c.At)
	if err != nil {
		return nil, verbs.Usagef("--at: %v", err)
	}
	for i := range list {
		if m := list[i].Manifest; m != nil && m.Position() == at {
			return &list[i], nil
		}
	}
	return nil, fmt.Errorf("there is no snapshot %s in %s: `tidemark snapshot list` lists them", c.At, r)
}

// lookInto downloads a snapshot, queries it, and removes it.
func (c *snapshotCmd) lookInto(a *verbs.App, r *snapshot.Repository, e *snapshot.Entry, found *found) (err error) {
	dir, err := os.MkdirTemp(c.Tmp, "tidemark-inspect-")
	if err != nil {
		return fmt.Errorf("no directory for the snapshot: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	report, end := snapshots.Progress(a, e.Partition)
	err = r.Download(a.Ctx, e.Manifest, dir, report)
	end()
	if err != nil {
		return err
	}
	return found.in(dir, fmt.Sprintf("%s, snapshot %s of partition %d", r, snapshots.ShortName(e.Manifest), e.Partition))
}

func (c *snapshotCmd) describe(a *verbs.App, r *snapshot.Repository, e *snapshot.Entry, list []snapshot.Entry) error {
	m := e.Manifest
	s := m.Settings
	info := SnapshotLook{
		Info: snapshots.NewInfo(e.Partition, m, e.Current, nil), URL: r.String(), Manifest: e.Key, Format: m.Format, Store: m.Store, Fold: m.Fold,
		Settings: settingsInfo{s.FanoutLimit, s.ReceiptLimit, s.SendMarksRead, s.IndexRetention / time.Hour.Milliseconds(), s.TrimLog},
		Topics:   []topicInfo{}, Others: []snapshots.Info{},
	}
	for _, t := range m.Topics {
		info.Topics = append(info.Topics, topicInfo{Name: t.Name, ID: t.ID, Position: t.Offset})
	}
	for _, f := range m.Files {
		if path.Ext(f.Name) == ".sst" {
			info.TableFiles++
			info.TableBytes += f.Size
		}
	}
	if c.Files {
		info.FileList = m.Files
	}
	for i := range list {
		if o := &list[i]; o != e {
			info.Others = append(info.Others, snapshots.NewInfo(o.Partition, o.Manifest, o.Current, o.Err))
		}
	}
	if c.JSON {
		return term.PrintJSON(a.Stdout, info)
	}
	return info.print(a)
}

func (i *SnapshotLook) print(a *verbs.App) error {
	f := term.NewFields(a.Stdout)
	f.Add("snapshot", i.Name)
	f.Add("in", i.URL+"/"+i.Manifest)
	f.Add("taken", i.WrittenAt.Local().Format("2006-01-02 15:04:05"))
	f.Add("current", term.Yes(i.Current))
	f.Add("partition", fmt.Sprintf("%d of %d", i.Partition, i.Partitions))
	f.Add("format", fmt.Sprintf("%d, of the store %d, fold %d", i.Format, i.Store, i.Fold))
	f.Add("cluster", i.Cluster)
	f.Add("settings", i.Settings)
	f.Add("digest", i.Digest)
	f.Add("size", fmt.Sprintf("%s in %s; %s of it in %s", config.Bytes(i.Bytes), term.Plural(i.Files, "file"), config.Bytes(i.TableBytes), term.Plural(i.TableFiles, "table")))
	var others []string
	for _, o := range i.Others {
		if o.Error != "" {
			others = append(others, o.Error)
		} else {
			others = append(others, o.Name)
		}
	}
	if len(others) > 0 {
		f.Add("others", strings.Join(others, ", "))
	}
	if err := f.Print(); err != nil {
		return err
	}
	topics := term.NewTable("TOPIC", "NEXT OFFSET>", "ID")
	for _, t := range i.Topics {
		topics.Row(t.Name, t.Position, t.ID)
	}
	fmt.Fprintln(a.Stdout)
	if err := topics.Print(a.Stdout); err != nil || len(i.FileList) == 0 {
		return err
	}
	files := term.NewTable("FILE", "SIZE>", "OBJECT")
	for _, file := range i.FileList {
		files.Row(file.Name, file.Size, file.Object)
	}
	fmt.Fprintln(a.Stdout)
	return files.Print(a.Stdout)
}
