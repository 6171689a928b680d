package main

type topicsCmd struct {
	Create topicsCreateCmd `cmd:"" help:"Create the topics that are missing."`
	Check  topicsCheckCmd  `cmd:"" help:"Say how the topics differ from what they should be."`
}

func (topicsCmd) Help() string {
	return `
Example:

    tidemark topics create --partitions 64 --replication-factor 3
    tidemark topics check`
}
