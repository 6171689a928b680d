package bench

import (
	"bytes"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/load"
)

// TestFoldRun runs the fold's bench on a small mix: it folds what it says and allocates next to nothing.
func TestFoldRun(t *testing.T) {
	r, err := foldRun("small", load.Mixes["S"], fanoutOff(), 20_000)
	if err != nil {
		t.Fatal(err)
	}
	if r.CPU <= 0 || r.Rate <= 0 || !strings.Contains(r.Note, "50000 pairs") {
		t.Fatalf("%+v", r)
	}
}

// TestListener finds this process by the port that it listens on, and its CPU time grows.
func TestListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pid, err := listener(l.Addr().String())
	if err != nil || pid != os.Getpid() {
		t.Fatalf("process %d (%v), want %d", pid, err, os.Getpid())
	}
	before, until := processCPU(pid), time.Now().Add(5*time.Second)
	for processCPU(pid) == before && time.Now().Before(until) {
		continue // until a tick of the clock has been used
	}
	if processCPU(pid) == before {
		t.Fatal("no CPU time in 5 s of work")
	}
	if _, err := listener("127.0.0.1:1"); err == nil {
		t.Fatal("somebody listens on port 1")
	}
}

// TestPrint aligns the columns and leaves out what was not measured.
func TestPrint(t *testing.T) {
	var b bytes.Buffer
	if err := Print(&b, []Result{{Name: "a", CPU: 1.234, Rate: 1000, Note: "n"}, {Name: "longer"}}); err != nil {
		t.Fatal(err)
	}
	want := "WHAT    CPU-S/MEV  EVENTS/S  NOTE\na       1.23       1000      n\nlonger  -          -         \n"
	if b.String() != want {
		t.Fatalf("%q", b.String())
	}
}
