package inspect

// Cmd is `tidemark inspect`.
type Cmd struct {
	Store    storeCmd    `cmd:"" help:"Show what a store contains: its records, or one channel or user."`
	Snapshot snapshotCmd `cmd:"" help:"Show what snapshots contain, in a directory or in S3."`
	Topic    topicCmd    `cmd:"" help:"Show the partitions and offsets of a topic, and some of its records."`
}

// Help has an example.
func (Cmd) Help() string {
	return `
Example:

    tidemark inspect store tidemark-data/partition-3
    tidemark inspect snapshot s3://backups/tidemark --channel general
    tidemark inspect topic chat.messages --records 5`
}
