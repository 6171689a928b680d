package docs

import (
	"path"
	"slices"
	"strings"
)

// Runnable lists the languages of examples that a test can run or check.
var Runnable = []string{"sh", "bash", "console", "js", "jsx", "ts", "html", "python", "go", "java", "yaml", "json", "sql", "http", "frames", "story", "tale", "answer", "proto"}

// Run says which test runs or checks examples.
type Run struct {
	Pages    string // a pattern for path.Match
	Language string
	// Begins has the beginning of each example that the test runs. If it is empty, the test runs
	// all examples of the language on the pages.
	Begins []string
	Test   string // package and test
}

// tests lists the tests that run examples.
var tests = []Run{
	{Pages: "README.md", Language: "console", Test: "internal/test/tutorials.TestReadme"},
	{Pages: "README.md", Language: "json", Test: "internal/test/tutorials.TestReadme"},
	{Pages: "README.md", Language: "sh", Begins: []string{"make dev "}, Test: "internal/test/tutorials.TestReadme"},
	{Pages: "README.md", Language: "sh", Begins: []string{"make build\nbin/tidemark topics create"}, Test: "cmd/tidemark.TestCommandsOfTheDocuments"},
	{Pages: "clients/js/README.md", Language: "js", Test: "internal/test/tutorials.TestJavaScript"},
	{Pages: "clients/js/README.md", Language: "jsx", Test: "internal/test/tutorials.TestJavaScript"},
	{Pages: "clients/python/README.md", Language: "python", Test: "clients/python.TestInPython"},
	{Pages: "docs/clients.md", Language: "js", Test: "internal/test/tutorials.TestJavaScript"},
	{Pages: "docs/clients.md", Language: "python", Test: "internal/test/tutorials.TestPythonOfClients"},
	{Pages: "docs/clients.md", Language: "go", Begins: []string{"package main", "package main"}, Test: "internal/test/clientmodule.TestModule"},
	{Pages: "docs/clients.md", Language: "console", Test: "cmd/tidemark.TestConformance"},
	{Pages: "docs/events.md", Language: "sh", Test: "internal/test/eventpage.TestCurl"},
	{Pages: "docs/events.md", Language: "json", Test: "internal/test/eventpage.TestCurl"},
	{Pages: "docs/events.md", Language: "answer", Test: "internal/test/eventpage.TestCurl"},
	{Pages: "docs/events.md", Language: "go", Test: "internal/test/eventpage.TestProducers"},
	{Pages: "docs/events.md", Language: "java", Test: "internal/test/eventpage.TestProducers"},
	{Pages: "docs/events.md", Language: "python", Test: "internal/test/eventpage.TestProducers"},
	{Pages: "docs/deploy.md", Language: "yaml", Test: "deploy.TestChartTakesTheValuesOfTheDocument"},
	{Pages: "docs/query-api.md", Language: "console", Test: "query.TestExamplesOfTheDocument"},
	{Pages: "docs/gateway.md", Language: "json", Test: "gateway.TestTheDocumentsOtherFrames"},
	{Pages: "docs/gateway.md", Language: "frames", Test: "gateway.TestTheDocumentsConversation"},
	{Pages: "docs/semantics*.md", Language: "story", Test: "projections.TestSemanticsExamples"},
	{Pages: "docs/semantics*.md", Language: "tale", Test: "internal/test/museum.TestSemanticsExamples"},
	{Pages: "docs/sql.md", Language: "sql", Test: "sqlsink.TestQueriesOfTheDocument"},
	{Pages: "docs/start/backend.md", Language: "sh", Begins: []string{"curl ", "curl ", "curl "}, Test: "internal/test/tutorials.TestCurl"},
	{Pages: "docs/start/frontend.md", Language: "html", Test: "internal/test/tutorials.TestPage"},
	{Pages: "docs/start/sre.md", Language: "sh", Test: "internal/test/tutorials.TestSRE"},
	{Pages: "docs/tutorials/java.md", Language: "java", Test: "internal/test/tutorials.TestJava"},
	{Pages: "docs/tutorials/python.md", Language: "python", Test: "internal/test/tutorials.TestPython"},
	{Pages: "docs/tutorials/react.md", Language: "jsx", Test: "internal/test/tutorials.TestReact"},
	// A test checks the shell's syntax, the verbs, the flags and their values of these commands.
	// The tests of import, compare and heal in cmd/tidemark compare the outputs in docs/import.
	{Pages: "docs/deploy.md", Language: "sh", Begins: []string{"tidemark topics", "tidemark run … ", "tidemark run --ui"}, Test: "cmd/tidemark.TestCommandsOfTheDocuments"},
	{Pages: "docs/import/*.md", Language: "console", Test: "cmd/tidemark.TestCommandsOfTheDocuments"},
	{Pages: "docs/import/*.md", Language: "sh", Test: "cmd/tidemark.TestCommandsOfTheDocuments"},
	{Pages: "docs/reference.md", Language: "console", Test: "cmd/tidemark.TestCommandsOfTheDocuments"},
	{Pages: "docs/reference.md", Language: "sh", Test: "cmd/tidemark.TestCommandsOfTheDocuments"},
	{Pages: "docs/security.md", Language: "console", Test: "cmd/tidemark.TestCommandsOfTheDocuments"},
	{Pages: "docs/reference.md", Language: "yaml", Test: "cmd/tidemark.TestCommandsOfTheDocuments"},
}

// exceptions lists examples that no test runs. Test has the reason.
var exceptions = []Run{
	{Pages: "CONTRIBUTING.md", Language: "go", Test: "parts of a change that a reader makes"},
	{Pages: "CONTRIBUTING.md", Language: "proto", Test: "part of a change that a reader makes"},
	{Pages: "CONTRIBUTING.md", Language: "sh", Test: "targets of the Makefile, which its users run"},
	{Pages: "docs/clients.md", Language: "sh", Test: "go mod tidy asks the network for modules"},
	{Pages: "docs/clients.md", Language: "go", Begins: []string{"v, err := cached"}, Test: "a part of a program; the module's TestCached reads Redis in this way"},
	{Pages: "docs/deploy.md", Language: "console", Test: "TestSRE asks a node for /readyz"},
	{Pages: "docs/deploy.md", Language: "sh", Begins: []string{"kubectl "}, Test: "needs a Kubernetes cluster"},
	{Pages: "docs/index.md", Language: "sh", Test: "clones the repository; TestReadme starts the same"},
	{Pages: "docs/query-api.md", Language: "sh", Begins: []string{"grpcurl "}, Test: "needs grpcurl; query.TestReflection makes the same calls"},
	{Pages: "docs/query-api.md", Language: "sh", Begins: []string{"curl "}, Test: "needs a time that the logs of a node still have"},
	{Pages: "docs/redis.md", Language: "json", Test: "values that cache/internal/entry.TestValueBytes and the tests of cache compare with copies of them"},
	{Pages: "docs/releases.md", Language: "console", Test: "needs a published release"},
	{Pages: "docs/start/backend.md", Language: "sh", Begins: []string{"git clone "}, Test: "clones the repository; TestReadme starts the same"},
	{Pages: "docs/start/frontend.md", Language: "sh", Begins: []string{"git clone "}, Test: "clones the repository; TestReadme starts the same"},
	{Pages: "docs/start/frontend.md", Language: "sh", Begins: []string{"mkdir "}, Test: "TestPage makes the same folder and needs no server of files"},
	{Pages: "docs/tutorials/python.md", Language: "sh", Test: "pip asks the network for what the client needs"},
	{Pages: "docs/tutorials/react.md", Language: "sh", Test: "npm asks the network for React; clients/js.TestPackage packs and installs the client"},
}

// covers reports whether a run includes a block.
func (r Run) covers(b Block) bool {
	match, err := path.Match(r.Pages, b.Page)
	if err != nil || !match || r.Language != b.Language {
		return false
	}
	return len(r.Begins) == 0 || slices.ContainsFunc(r.Begins, func(s string) bool { return strings.HasPrefix(b.Text, s) })
}
