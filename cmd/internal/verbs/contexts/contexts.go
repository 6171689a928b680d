package contexts

// Cmd is `tidemark context`.
type Cmd struct {
	List   listCmd   `cmd:"" help:"List the contexts."`
	Use    useCmd    `cmd:"" help:"Query the node of this context from now on."`
	Add    addCmd    `cmd:"" help:"Add a context."`
	Remove removeCmd `cmd:"" help:"Remove a context."`
}

// Help has an example.
func (Cmd) Help() string {
	return `
A context is a name for a node's address, the file of a token and the authorities to trust. The verbs that call a node use the
current context, or the one of --context.

Example:

    tidemark context add prod --addr https://tidemark.example.com --token-file ~/prod.token
    tidemark context use prod`
}
