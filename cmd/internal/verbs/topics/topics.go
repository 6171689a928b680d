package topics

// Cmd is `tidemark topics`.
type Cmd struct {
	Create createCmd `cmd:"" help:"Create the topics that are missing."`
	Check  checkCmd  `cmd:"" help:"Compare the topics with what they should be."`
}

// Help has an example.
func (Cmd) Help() string {
	return `
Example:

    tidemark topics create --partitions 64 --replication-factor 3
    tidemark topics check`
}
