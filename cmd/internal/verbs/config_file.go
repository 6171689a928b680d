package verbs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"github.com/tidemark/tidemark/internal/config"
)

// ConfigFlags name a file with values of the command's other flags.
type ConfigFlags struct {
	Config string `placeholder:"FILE" help:"YAML file with settings: the names of these flags, without dashes before them. A flag wins over its environment variable, and the variable over the file."`
}

// BeforeResolve reads the file. The parser calls it once the command is known, before it takes
// values from anything but the command line, the environment and defaults.
func (ConfigFlags) BeforeResolve(ctx *kong.Context) error {
	flags := map[string]*kong.Flag{}
	for _, f := range ctx.Selected().Flags {
		flags[f.Name] = f
	}
	path, _ := ctx.FlagValue(flags["config"]).(string)
	if path == "" {
		return nil
	}
	delete(flags, "config") // a file names no other file
	delete(flags, "help")
	s, err := readSettings(path, flags)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	ctx.AddResolver(s)
	return nil
}

// settings are values of flags by name, in the form of a command line.
type settings map[string]string

// Validate is part of kong.Resolver: readSettings has checked the names.
func (settings) Validate(*kong.Application) error { return nil }

// Resolve returns the value of a flag that is not on the command line; nil if the file has none, or
// the environment one.
func (s settings) Resolve(_ *kong.Context, _ *kong.Path, f *kong.Flag) (any, error) {
	value, ok := s[f.Name]
	if !ok || inEnvironment(f) {
		return nil, nil
	}
	return value, nil
}

func inEnvironment(f *kong.Flag) bool {
	return slices.ContainsFunc(f.Envs, func(name string) bool {
		_, set := os.LookupEnv(name)
		return set
	})
}

// readSettings reads a file and checks every value, also of flags that are set elsewhere. Errors
// name the file and the line, and no value that may be a secret.
func readSettings(path string, flags map[string]*kong.Flag) (settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s is not YAML: %w", path, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s has several documents: write all settings into the first one", path)
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: want lines of the form NAME: VALUE, such as data-dir: /var/lib/tidemark", path, root.Line)
	}
	s, lines := settings{}, map[string]int{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		name := key.Value
		at := fmt.Sprintf("%s:%d", path, key.Line)
		f := flags[name]
		switch {
		case f == nil:
			return nil, fmt.Errorf("%s: there is no setting %q: the nearest is %s", at, name,
				Nearest(name, slices.Sorted(maps.Keys(flags))))
		case lines[name] > 0:
			return nil, fmt.Errorf("%s: %s is already set in line %d", at, name, lines[name])
		}
		lines[name] = key.Line
		if s[name], err = setting(f, value); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	return s, nil
}

// setting returns a value in the form of a command line, after it was parsed in that form.
func setting(f *kong.Flag, n *yaml.Node) (string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode && f.IsSlice() {
		items = n.Content
	}
	texts := make([]string, len(items))
	for i, item := range items {
		switch {
		case item.Kind == yaml.ScalarNode && item.Tag == "!!null":
			return "", fmt.Errorf("%s has no value: leave the line out for the default", f.Name)
		case item.Kind != yaml.ScalarNode && f.IsSlice():
			return "", fmt.Errorf("%s: want a value, or a list of values", f.Name)
		case item.Kind != yaml.ScalarNode:
			return "", fmt.Errorf("%s: want one value", f.Name)
		case config.PasswordInURL(item.Value):
			return "", fmt.Errorf("%s has a password: put it into a file of its own, for a setting that ends in -file", f.Name)
		}
		texts[i] = item.Value
		if n.Kind == yaml.SequenceNode {
			texts[i] = strings.ReplaceAll(item.Value, string(f.Tag.Sep), `\`+string(f.Tag.Sep))
		}
	}
	text := strings.Join(texts, ",")
	if f.Enum != "" && !slices.Contains(f.EnumSlice(), text) {
		return "", fmt.Errorf("%s is %q: it must be one of %s", f.Name, text, strings.Join(f.EnumSlice(), ", "))
	}
	was := f.Set
	err := f.Parse(kong.Scan().PushTyped(text, kong.FlagValueToken), reflect.New(f.Target.Type()).Elem())
	f.Set = was // nothing was set yet
	return text, err
}
