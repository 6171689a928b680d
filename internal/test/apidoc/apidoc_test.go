package apidoc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

const docs = "../../../docs"

var update = flag.Bool("update", false, "write docs/openapi.json and docs/asyncapi.json")

func written(t *testing.T) (openAPI, asyncAPI []byte) {
	t.Helper()
	notes, err := comments("../../../events/proto")
	if err != nil || len(notes) < 150 {
		t.Fatalf("%d comments, %v", len(notes), err)
	}
	encode := func(o object) []byte {
		b, err := json.MarshalIndent(o, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return append(b, '\n')
	}
	return encode(OpenAPI(notes)), encode(AsyncAPI(notes))
}

// TestFiles: docs/openapi.json and docs/asyncapi.json are what the schemas yield.
func TestFiles(t *testing.T) {
	openAPI, asyncAPI := written(t)
	for name, want := range map[string][]byte{"openapi.json": openAPI, "asyncapi.json": asyncAPI} {
		path := filepath.Join(docs, name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what events/proto gives (%v): make generate", path, err)
		}
	}
}

func load(t *testing.T, text []byte) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestOpenAPI: the file is valid, and has every call.
func TestOpenAPI(t *testing.T) {
	openAPI, _ := written(t)
	doc := load(t, openAPI)
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if doc.Paths.Len() != 10 {
		t.Errorf("%d calls", doc.Paths.Len())
	}
}

// fits reports how a JSON value violates a schema of components.
func fits(t *testing.T, doc *openapi3.T, schema *openapi3.Schema, value string) error {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		return err
	}
	err := schema.VisitJSON(v)
	var e *openapi3.SchemaError
	if errors.As(err, &e) { // its text without the whole schema
		return fmt.Errorf("%v: %s", e.JSONPointer(), e.Reason)
	}
	return err
}

// TestExamples: the calls in the documents fit the schemas, and wrong calls do not.
func TestExamples(t *testing.T) {
	openAPI, _ := written(t)
	doc := load(t, openAPI)
	page, err := os.ReadFile(filepath.Join(docs, "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, part := range strings.Split(string(page), "IngestService/Publish")[1:] {
		_, rest, _ := strings.Cut(part, "-d '")
		call, _, _ := strings.Cut(rest, "'\n")
		n++
		if err := fits(t, doc, doc.Components.Schemas["PublishRequest"].Value, call); err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
	if n < 25 {
		t.Errorf("%d calls", n)
	}
	for _, wrong := range []string{`{"events": {}}`, `{"events": [{"message": {"channel_id": 7}}]}`, `{"events": [{"read": {"notify_set": {"level": "LOUD"}}}]}`} {
		if fits(t, doc, doc.Components.Schemas["PublishRequest"].Value, wrong) == nil {
			t.Errorf("%s fits", wrong)
		}
	}
	for schema, file := range map[string]string{"ChannelUnread": "events.md"} {
		_, rest, ok := strings.Cut(string(page), "```answer\n")
		answer, _, _ := strings.Cut(rest, "\n```")
		if err := fits(t, doc, doc.Components.Schemas[schema].Value, answer+"}"); !ok || err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestAsyncAPI: each reference leads to something. docs/asyncapi.json describes each frame that
// docs/gateway.md shows, with all of its fields.
func TestAsyncAPI(t *testing.T) {
	_, text := written(t)
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	refs := 0
	walk(root, func(r string) {
		refs++
		at := root
		for part := range strings.SplitSeq(strings.TrimPrefix(r, "#/"), "/") {
			part = strings.ReplaceAll(part, "~1", "/")
			o, _ := at.(object)
			if at = o[part]; at == nil {
				t.Errorf("%s leads nowhere", r)
				return
			}
		}
	})
	if refs < 100 {
		t.Errorf("%d references", refs)
	}

	// AsyncAPI has the same schemas as OpenAPI, so OpenAPI's library can validate frames.
	messages := root.(object)["components"].(object)["messages"].(object)
	all := root.(object)["components"].(object)["schemas"].(object)
	for id, m := range messages {
		payload := m.(object)["payload"].(object)
		if p, ok := payload["properties"].(object); ok {
			delete(p["type"].(object), "const") // JSON Schema has it, OpenAPI 3.0 does not
		}
		all["frame "+id] = payload
	}
	b, err := json.Marshal(object{"openapi": "3.0.3", "info": object{"title": "x", "version": "x"}, "paths": object{}, "components": object{"schemas": rename(all)}})
	if err != nil {
		t.Fatal(err)
	}
	doc := load(t, b)
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "gateway.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		direction, body, ok := strings.Cut(line, " ")
		if !ok || direction != "->" && direction != "<-" || !strings.HasPrefix(body, "{") {
			continue
		}
		var head struct{ Type string }
		if err := json.Unmarshal([]byte(body), &head); err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		id := head.Type
		if direction == "->" {
			id = "client." + id
		}
		seen[id]++
		schema := doc.Components.Schemas["frame."+id]
		if schema == nil {
			t.Errorf("no frame %s", id)
			continue
		}
		if err := fits(t, doc, schema.Value, body); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	if len(seen) < 25 {
		t.Errorf("only %d kinds of frames are shown: %v", len(seen), seen)
	}
	if fits(t, doc, doc.Components.Schemas["frame.ack"].Value, `{"type":"ack","id":"1"}`) == nil {
		t.Error("an ack without after fits")
	}
}

// rename gives components names that OpenAPI allows.
func rename(all object) object {
	out := object{}
	for k, v := range all {
		out[strings.ReplaceAll(k, " ", ".")] = v
	}
	return out
}

func walk(v any, fn func(string)) {
	switch v := v.(type) {
	case object:
		for k, x := range v {
			if r, ok := x.(string); ok && k == "$ref" {
				fn(r)
			}
			walk(x, fn)
		}
	case []any:
		for _, x := range v {
			walk(x, fn)
		}
	}
}

// docs/asyncapi.json is valid by AsyncAPI's own schema of its version.
func TestAsyncAPIFitsItsSchema(t *testing.T) {
	testkit.Program(t, "npm")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	modules, err := servers.NodeModules(ctx)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(modules, "@asyncapi", "specs", "schemas", "3.0.0-without-$id.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, text := written(t)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Error(err)
	}
	doc.(map[string]any)["channels"] = 7.0
	if schema.Validate(doc) == nil {
		t.Error("channels may be a number")
	}
}
