package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// chapter returns the part of a page between a heading of the second level and the next, and its
// sections by heading.
func chapter(t *testing.T, page, name string) (text string, sections map[string]string) {
	t.Helper()
	_, text, ok := strings.Cut(document(t, page), "\n## "+name+"\n")
	if !ok {
		t.Fatalf("%s has no chapter %q", page, name)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	sections = map[string]string{}
	for _, s := range strings.Split(text, "\n### ")[1:] {
		head, body, _ := strings.Cut(s, "\n")
		if sections[head] != "" {
			t.Errorf("there are two sections %q", head)
		}
		sections[head] = body
	}
	return text, sections
}

// Every verb has a section, and every section a verb.
func TestEveryVerbHasASection(t *testing.T) {
	_, sections := chapter(t, "docs/reference.md", "Verbs")
	for name, n := range nodes(t) {
		if len(n.Children) > 0 {
			continue
		}
		head := "tidemark " + name
		if len(strings.TrimSpace(sections[head])) < 60 {
			t.Errorf("docs/reference.md does not explain %q: it needs a section `### %s` in the chapter Verbs", head, head)
		}
		delete(sections, head)
	}
	for head := range sections {
		t.Errorf("docs/reference.md explains %q, which is no verb", head)
	}
}

// Every refusal is told as somebody sees it at three in the morning: the sentence, what it means,
// what to do, what not.
func TestEveryRefusalHasAWayOut(t *testing.T) {
	_, sections := chapter(t, "docs/runbook.md", "Refusals")
	if len(sections) < 20 {
		t.Fatalf("only %d sections were found", len(sections))
	}
	for head, body := range sections {
		for _, part := range []string{"```\n", "**Means**: ", "**Do**: ", "**Do not**: "} {
			if !strings.Contains(body, part) {
				t.Errorf("section %q has no %q", head, strings.TrimSpace(part))
			}
		}
	}
}

// refusing are the files whose errors stop a partition or a node, or refuse a snapshot: dir/... are
// all files below dir, and dir/.../name.go are those of that name.
var refusing = []string{
	"processor/...", "projections/.../identity.go", "projections/.../open.go", "projections/.../chain.go", "projections/.../corrupt.go",
	"projections/.../fuse.go", "projections/.../full_disk.go", "snapshot/create.go", "snapshot/manifest.go", "snapshot/restore.go", "snapshot/prune.go", "internal/config/kafka.go",
	"internal/kafkaadmin/identity.go", "internal/peer/accept.go", "internal/peer/transport.go", "internal/peer/statement.go", "internal/auth/tokenfile.go",
}

// noRefusals are errors in these files that stop nothing, with the reason. Each must be there.
var noRefusals = map[string]string{
	"no brokers are configured":                       "of the program that configures",
	"no group is configured":                          "of the program that configures",
	"no data directory is configured":                 "of the program that configures",
	"another processor has its metrics":               "of the program that configures",
	"no input has number":                             "to a caller",
	"a commit was not sent":                           "a panic came before it, which the log tells; it is sent again",
	"the group declared this member dead for a while": "a partition that is opened again after a second",
	"this node still owns it in the group":            "a store stays, and it is tried again",
	"its restoring was interrupted":                   "the partition has gone",
	"this node has no place for snapshots":            "to who asked for one",
	"nothing was folded since the current snapshot":   "nothing to do",
	"a rebuild publishes nothing":                     "a worker of a rebuild that publishes is a bug, and no state of a cluster",
	"the snapshot would upload more than it may":      "left to the next owner",
	"no files of partition":                           "said beside the reason, which has a section",
	"closing the store of partition":                  "the store is as after a crash",
	"the data directory cannot be":                    "of a flag, with the way out",
	"no complete record batch begins at this offset":  "only whole ones are kept",
	"a batch has fewer readable records":              "said behind \"cannot be fetched\", which has a section",
	"there are aborted transactions":                  "the client's consumer goes on",
	"the broker throttles this client":                "asked again",
	"the answers have no records although the log":    "the client's consumer goes on",
	"a record batch is incomplete":                    "the client's consumer goes on",
	"the answer to a fetch is":                        "the client's consumer goes on",
	"there are records of an old format":              "the client's consumer goes on",
	"messages, and takes no more":                     "a dead letter, and the partition goes on",
	"processor: consumer":                             "of a flag of TLS or a login, in the client's words",
	"processor: producer":                             "of a flag of TLS or a login, in the client's words",
	"Kafka client for":                                "of a flag of TLS or a login, in the client's words",
	"balance the group":                               "what the client says follows",
	"the start and end of %s/%d are not known":        "asked again",
	"metadata of no topic was asked for":              "of the program that asks",
	"the brokers' answer does not have it":            "asked again",
	"is to be folded up to":                           "of the verb verify, in the words of a log that ends too early",
	"there is no partition":                           "of a flag of replay",
	"is there already: a rebuild begins with nothing": "of a flag of replay",
	"begin with a store or snapshot that is at":       "of the verb replay, in the words of a log that begins too late",
	"where this rebuild is to end":                    "of the verb replay",
	"so the topics alone do not give the state":       "of the verb replay, with its flag",
	"the rebuild was interrupted":                     "of the verb replay",
	"was folded up to":                                "of the verb replay",
	"an earlier commit has no answer yet":             "tried again",
	"a commit has no answer":                          "tried again",
	"leaders of the output topics":                    "tried again until the partition is taken over",
	"has no leader":                                   "tried again until the partition is taken over",
	"fence former owners at broker":                   "tried again until the partition is taken over",
	"does not answer for":                             "sent again",
	"a broker answers a request for metadata with":    "asked again",
	"the fate of an earlier batch is not known":       "the producer is renewed, and the records are published again",
	"answers a produce request with":                  "tried again until the partition is taken over",
	"fence former owners from partition":              "tried again until the partition is taken over",
	"the producer is given up":                        "another takes its place",
	"the group session may have ended, and others":    "the partitions are opened again, here or elsewhere",
	"processor: client":                               "of a flag of TLS or a login, in the client's words",
	"the Kafka client has no dial function":           "of the program that configures",
}

// The chapter Refusals has every error text of these files: the longest part between two verbs of
// the format.
func TestEverySentenceThatStopsSomethingIsExplained(t *testing.T) {
	text, _ := chapter(t, "docs/runbook.md", "Refusals")
	text = strings.Join(strings.Fields(text), " ")
	unused := map[string]bool{}
	for s := range noRefusals {
		unused[s] = true
	}
	sentences := 0
	for _, pattern := range refusing {
		files := matching(t, pattern)
		if len(files) == 0 {
			t.Errorf("there is no file %s", pattern)
		}
		for _, file := range files {
			for _, s := range errorTexts(t, file) {
				part := longestPart(s)
				if len(part) < 12 {
					continue // it only says where something else happened
				}
				sentences++
				known := false
				for no := range noRefusals {
					if strings.Contains(s, no) {
						known = true
						delete(unused, no)
					}
				}
				if !known && !strings.Contains(text, part) {
					t.Errorf("%s: %q\nis not explained: docs/runbook.md needs the sentence in a section of the chapter Refusals (%q), or "+
						"noRefusals why it stops nothing", strings.TrimPrefix(file, root+"/"), s, part)
				}
			}
		}
	}
	if sentences < 60 {
		t.Errorf("only %d sentences were found", sentences)
	}
	for s := range unused {
		t.Errorf("noRefusals has %q, which no file says", s)
	}
}

// matching returns the product files that one of refusing means.
func matching(t *testing.T, pattern string) (files []string) {
	t.Helper()
	dir, name, below := strings.Cut(pattern, "/...")
	if !below {
		dir, name = path.Split(pattern)
	}
	name = strings.TrimPrefix(name, "/")
	err := filepath.WalkDir(filepath.Join(root, dir), func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && !below && file != filepath.Join(root, dir):
			return filepath.SkipDir
		case strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && (name == "" || name == d.Name()):
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var filledIn = regexp.MustCompile(`%[-+# 0]*[0-9.]*[a-zA-Z]`)

// longestPart is the longest constant part of a format, with its white space as in prose.
func longestPart(format string) (longest string) {
	for _, part := range filledIn.Split(format, -1) {
		part = strings.Trim(strings.Join(strings.Fields(strings.ReplaceAll(part, "%%", "%")), " "), ":;,( ")
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// errorTexts returns the formats and texts of the errors that a file makes: with fmt.Errorf and
// errors.New, with the file's own short hands for them, and in literals of error types.
func errorTexts(t *testing.T, file string) (texts []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	note := func(args []ast.Expr) {
		for _, a := range args {
			if s, ok := constant(a); ok {
				texts = append(texts, s)
				return
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if slices.Contains([]string{"fmt.Errorf", "errors.New", "fail", "bad", "damaged", "refused"}, nameOf(n.Fun)) {
				note(n.Args)
			}
		case *ast.CompositeLit:
			if !strings.HasSuffix(nameOf(n.Type), "Error") {
				return true
			}
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					e = kv.Value
				}
				if call, ok := e.(*ast.CallExpr); ok && nameOf(call.Fun) == "fmt.Sprintf" {
					note(call.Args)
				}
			}
		case *ast.FuncDecl:
			if n.Name.Name == "Error" && n.Recv != nil { // the words of an error type
				ast.Inspect(n, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok && nameOf(call.Fun) == "fmt.Sprintf" {
						note(call.Args)
					}
					return true
				})
			}
		}
		return true
	})
	return texts
}

// nameOf is a name or a qualified name; empty for anything else.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return nameOf(e.X) + "." + e.Sel.Name
	}
	return ""
}

// constant is the value of a string that is written out, in one piece or several.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, okx := constant(e.X)
		y, oky := constant(e.Y)
		return x + y, okx && oky
	}
	return "", false
}
