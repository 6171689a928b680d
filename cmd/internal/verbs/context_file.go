package verbs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tidemark/tidemark/internal/config"
)

// Context is a node with a name, for the verbs that call one. It has no secrets: a token stays in
// its file.
type Context struct {
	Addr      string `yaml:"addr" json:"addr"`
	TokenFile string `yaml:"token-file,omitempty" json:"token_file,omitempty"`
	TLSCA     string `yaml:"tls-ca,omitempty" json:"tls_ca,omitempty"`
}

// Contexts are a user's contexts.
type Contexts struct {
	Current string             `yaml:"current,omitempty"` // the one in use; empty: none
	Named   map[string]Context `yaml:"contexts,omitempty"`
}

// contextName matches names that need no quotes in a shell.
var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ContextsFile is the file of the user's contexts.
func ContextsFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("no folder for the contexts: %w", err)
	}
	return filepath.Join(dir, "tidemark", "contexts.yml"), nil
}

// LoadContexts reads the file; without one there are no contexts.
func LoadContexts() (c Contexts, err error) {
	path, err := ContextsFile()
	if err != nil {
		return c, err
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, fmt.Errorf("%s is not a file of contexts (%w): repair it, or remove it and add the contexts again", path, err)
	}
	if c.Named == nil {
		c.Named = map[string]Context{}
	}
	return c, nil
}

// Save replaces the file.
func (c Contexts) Save() error {
	path, err := ContextsFile()
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".contexts-*") // with the mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // nobody has used it
	}
	return err
}

// Get returns the context of that name.
func (c Contexts) Get(name string) (Context, error) {
	found, ok := c.Named[name]
	switch {
	case ok:
		return found, nil
	case len(c.Named) == 0:
		return Context{}, fmt.Errorf("there is no context %q: make one with `tidemark context add %s --addr URL`", name, name)
	}
	return Context{}, fmt.Errorf("there is no context %q: the nearest is %s; `tidemark context list` has all",
		name, Nearest(name, slices.Sorted(maps.Keys(c.Named))))
}

// Add adds a context.
func (c Contexts) Add(name string, added Context) error {
	if !contextName.MatchString(name) {
		return fmt.Errorf("%q is not a name of a context: want up to 64 letters, digits, dots, dashes and underscores", name)
	}
	if _, ok := c.Named[name]; ok {
		return fmt.Errorf("there is already a context %q: remove it first, with `tidemark context remove %s`", name, name)
	}
	if config.PasswordInURL(added.Addr) {
		return errors.New("--addr has a password: nodes take tokens, and a context names the file of one with --token-file")
	}
	c.Named[name] = added
	return nil
}
