package paths

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
)

// flagSet has the names of a binary's flags, as --name.
type flagSet map[string]bool

var flagLine = regexp.MustCompile(`(?m)^ +(?:-[a-zA-Z], )?(--[a-z][a-z0-9-]*)`)

// parseFlags returns the flags that a help text explains. A flag that the text mentions elsewhere
// does not count.
func parseFlags(help []byte) flagSet {
	f := flagSet{}
	for _, m := range flagLine.FindAllSubmatch(help, -1) {
		f[string(m[1])] = true
	}
	return f
}

// flagsOf returns the flags of `run` of a binary.
func flagsOf(ctx context.Context, binary string) (flagSet, error) {
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, binary, "run", "--help")
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s run --help: %w\n%s", binary, err, errs.String())
	}
	return parseFlags(out.Bytes()), nil
}

// place is where a node runs: its servers, its files, its names.
type place struct {
	brokers, redis, dir, listen, prefix, group string
}

// runs reports whether a binary with these flags can run the line.
func (l line) runs(known flagSet) bool {
	return !l.packed || known["--redis-values"] && known["--redis-keys"]
}

// args returns the arguments of a node for the line. It fails if the binary lacks one of the flags.
func (l line) args(known flagSet, at place) ([]string, error) {
	roles := "processor"
	if l.cache {
		roles = "processor,cache"
	}
	flags := [][2]string{
		{"--roles", roles}, {"--brokers", at.brokers}, {"--topic-prefix", at.prefix}, {"--group", at.group}, {"--data-dir", at.dir},
		{"--listen", at.listen}, {"--memory", l.memory}, {"--fanout-limit", l.fanout}, {"--log-level", "error"},
	}
	if l.cache {
		flags = append(flags, [2]string{"--redis", at.redis})
	}
	if l.packed {
		flags = append(flags, [2]string{"--redis-values", "packed"}, [2]string{"--redis-keys", "inbox"})
	}
	args := []string{"run"}
	for _, f := range flags {
		if !known[f[0]] {
			return nil, fmt.Errorf("it has no flag %s: compare with a commit that has it", f[0])
		}
		args = append(args, f[0]+"="+f[1])
	}
	return args, nil
}
