package verbs

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// BeforeResolve takes the address from a context: from that of --context or $TIDEMARK_CONTEXT, or
// from the current one. An address on the command line or in the environment comes first.
func (NodeFlags) BeforeResolve(ctx *kong.Context) error { return useContext(ctx, "addr", false) }

// BeforeResolve takes the address from the context of --context. The current context has no effect:
// without an address the verb works on stores.
func (RunningFlags) BeforeResolve(ctx *kong.Context) error { return useContext(ctx, "node", true) }

// useContext gives flags that are not on the command line the values of a context, if one is
// chosen. address names the flag of the address. offline means that the verb also works without
// one.
func useContext(ctx *kong.Context, address string, offline bool) error {
	flags, typed := map[string]*kong.Flag{}, map[string]bool{}
	for _, f := range ctx.Selected().Flags {
		flags[f.Name] = f
	}
	for _, p := range ctx.Path {
		if p.Flag != nil {
			typed[p.Flag.Name] = true
		}
	}
	name, _ := ctx.FlagValue(flags["context"]).(string)
	switch {
	case typed["context"] && typed[address]:
		return fmt.Errorf("--context and --%s both name a node: leave one of them out", address)
	case typed["context"]:
	case typed[address] || inEnvironment(flags[address]) || offline:
		return nil
	}
	all, err := LoadContexts()
	if err != nil {
		return err
	}
	if name == "" && !typed["context"] {
		if name = all.Current; name == "" {
			return nil
		}
	}
	chosen, err := all.Get(name)
	if err != nil {
		return err
	}
	if _, destroys := flags["yes"]; destroys && !typed["context"] {
		return fmt.Errorf("%s does not use the current context by itself: name it with --context %s, or name the node with --%s",
			strings.TrimPrefix(ctx.Selected().FullPath(), "tidemark "), name, address)
	}
	ctx.AddResolver(fromContext{address: chosen.Addr, "token-file": chosen.TokenFile, "tls-ca": chosen.TLSCA, "context": name})
	return nil
}

// fromContext has values of flags by name.
type fromContext map[string]string

// Validate is part of kong.Resolver.
func (fromContext) Validate(*kong.Application) error { return nil }

// Resolve returns the value of a flag that is not on the command line. It wins over the
// environment, because a token there may belong to another node. It returns nil if the context has
// no value.
func (c fromContext) Resolve(_ *kong.Context, _ *kong.Path, f *kong.Flag) (any, error) {
	if c[f.Name] == "" {
		return nil, nil
	}
	return c[f.Name], nil
}
