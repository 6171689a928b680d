package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// Each container of deploy/kubernetes, which is what the chart makes, is started with a command
// line that the command takes.
func TestManifestsAreCommandLines(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "deploy", "kubernetes", "*.yaml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	verbs := map[string]int{}
	for _, file := range files {
		for _, args := range arguments(t, file) {
			for i := range args {
				args[i] = strings.NewReplacer("$(POD_NAME)", "tidemark-0", "$(POD_NAMESPACE)", "tidemark").Replace(args[i])
			}
			parser, err := kong.New(&cli{}, kong.Name("tidemark"), kong.DefaultEnvars("TIDEMARK"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.Parse(args); err != nil {
				t.Errorf("%s: tidemark %s: %v", filepath.Base(file), strings.Join(args, " "), err)
			}
			verbs[args[0]]++
		}
	}
	if verbs["run"] != len(files) || verbs["gateway"] != len(files) {
		t.Errorf("the containers are %v", verbs)
	}
}

// arguments are those of all containers of a manifest.
func arguments(t *testing.T, file string) (all [][]string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := yaml.NewDecoder(f); ; {
		var o struct {
			Spec struct {
				Template struct {
					Spec struct{ Containers []struct{ Args []string } }
				}
			}
		}
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range o.Spec.Template.Spec.Containers {
			all = append(all, c.Args)
		}
	}
}
