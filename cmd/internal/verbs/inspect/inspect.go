package inspect

// Cmd is `tidemark inspect`.
type Cmd struct {
	Store    storeCmd    `cmd:"" help:"What a store directory contains, or what it knows of a channel or user."`
	Snapshot snapshotCmd `cmd:"" help:"The same of snapshots in a directory or in S3."`
	Topic    topicCmd    `cmd:"" help:"Partitions and offsets of a topic, and some of its records."`
}

// Help has an example.
func (Cmd) Help() string {
	return `
Example:

    tidemark inspect store tidemark-data/partition-3
    tidemark inspect snapshot s3://backups/tidemark --channel general
    tidemark inspect topic chat.messages --records 5`
}
