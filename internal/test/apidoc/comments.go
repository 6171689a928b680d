package apidoc

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	declares = regexp.MustCompile(`^(message|service|enum|rpc|oneof) (\w+)`)
	field    = regexp.MustCompile(`^(?:repeated |optional )?[\w.<>, ]+ (\w+) = \d+;`)
)

// comments returns the comments of all .proto files below a folder, by the full name of the
// declaration that follows the comment. A field has the name of its message, even in a oneof.
func comments(folder string) (map[string]string, error) {
	all := map[string]string{}
	files, err := filepath.Glob(filepath.Join(folder, "tidemark", "*", "v1", "*.proto"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var (
			pkg   string
			stack []string // names of open blocks; "" for oneofs and options
			notes []string
		)
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			name := ""
			switch m := declares.FindStringSubmatch(line); {
			case strings.HasPrefix(line, "//"):
				notes = append(notes, strings.TrimSpace(strings.TrimPrefix(line, "//")))
				continue
			case strings.HasPrefix(line, "package "):
				pkg = strings.TrimSuffix(strings.TrimPrefix(line, "package "), ";")
			case m != nil:
				name = m[2]
				if m[1] == "oneof" {
					name = ""
				}
			default:
				if f := field.FindStringSubmatch(line); f != nil {
					name = f[1]
				}
			}
			if name != "" && len(notes) > 0 {
				all[join(append(append([]string{pkg}, stack...), name))] = strings.Join(notes, " ")
			}
			notes = nil
			if strings.HasSuffix(line, "{") {
				stack = append(stack, name)
			} else if line == "}" && len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
		}
	}
	return all, nil
}

// join connects the names that are not empty.
func join(names []string) string {
	var list []string
	for _, n := range names {
		if n != "" {
			list = append(list, n)
		}
	}
	return strings.Join(list, ".")
}
