package everyone

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// inJavaScript connects a device for each user. For each line of its input it prints what all of
// them show.
const inJavaScript = `
import { createInterface } from 'node:readline';
const [module, url, ...users] = process.argv.slice(2);
const { TidemarkClient } = await import(module);
const clients = users.map((userId) => new TidemarkClient({ url, userId, page: null }));
for (const c of clients) c.connect();
const told = ({ inbox: { value: i } }) => (i.known ? {
  channels: [...i.channels.values()], threads: [...i.threads.values()], totals: i.totals, totals_by_label: Object.fromEntries(i.byLabel()),
} : null);
for await (const _ of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(Object.fromEntries(clients.map((c, n) => [users[n], told(c)]))));
}
for (const c of clients) c.close();
`

// inGo does the same with the Go client.
const inGo = `package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/tidemark/tidemark/client"
)

func main() {
	devices := map[string]*client.Device{}
	for _, user := range os.Args[2:] {
		d, err := client.Connect(client.DeviceConfig{URL: os.Args[1], User: user})
		if err != nil {
			panic(err)
		}
		devices[user] = d
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		out := map[string]any{}
		for user, d := range devices {
			i := d.Inbox()
			if out[user] = nil; i.Known {
				out[user] = map[string]any{
					"channels": slices.Collect(maps.Values(i.Channels)), "threads": slices.Collect(maps.Values(i.Threads)),
					"totals": i.Totals, "totals_by_label": i.ByLabel(time.Now()),
				}
			}
		}
		text, err := json.Marshal(out)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
	for _, d := range devices {
		d.Close()
	}
}
`

// devices is a program with a device for each user.
type devices struct {
	t    *testing.T
	name string
	in   io.WriteCloser
	out  *bufio.Reader
}

// inNode starts the devices of the JavaScript client.
func inNode(t *testing.T, url string, users []string) *devices {
	t.Helper()
	module, err := filepath.Abs("../../../clients/js/src/index.js")
	if err != nil {
		t.Fatal(err)
	}
	read(t, "../../../clients/js/src/*.js")
	file := write(t, "devices.mjs", inJavaScript)
	args := []string{"--experimental-websocket", "--no-warnings", file, module, strings.Replace(url, "http", "ws", 1) + "/v1/socket"}
	return begin(t, "the JavaScript client", exec.CommandContext(t.Context(), testkit.Program(t, "node"), append(args, users...)...)) //nolint:gosec // the program is Node
}

// built builds the program of the Go client.
func built(t *testing.T) string {
	t.Helper()
	read(t, "../../../client/*.go")
	program := filepath.Join(t.TempDir(), "devices")
	build := exec.CommandContext(t.Context(), testkit.Program(t, "go"), "build", "-o", program, write(t, "main.go", inGo)) //nolint:gosec // the program is Go
	build.Dir = "../../../client"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// inGoClient starts the devices of the Go client.
func inGoClient(t *testing.T, program, url string, users []string) *devices {
	t.Helper()
	return begin(t, "the Go client", exec.CommandContext(t.Context(), program, append([]string{url}, users...)...)) //nolint:gosec // the program was built here
}

func begin(t *testing.T, name string, cmd *exec.Cmd) *devices {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // ends the program
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	return &devices{t: t, name: name, in: in, out: bufio.NewReader(out)}
}

// answers returns what each device shows now; nil for a device that has no inbox yet.
func (d *devices) answers() map[string]*answer {
	d.t.Helper()
	if _, err := fmt.Fprintln(d.in); err != nil {
		d.t.Fatalf("%s: %v", d.name, err)
	}
	text, err := d.out.ReadBytes('\n')
	if err != nil {
		d.t.Fatalf("%s: %v", d.name, err)
	}
	out := map[string]*answer{}
	if err := json.Unmarshal(text, &out); err != nil {
		d.t.Fatalf("%s: %v in %.300s", d.name, err, text)
	}
	return out
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// read makes go test run again when a file changes.
func read(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files %s: %v", len(files), pattern, err)
	}
	for _, file := range files {
		if _, err := os.ReadFile(file); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
}
