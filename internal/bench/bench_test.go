package bench

import (
	"bytes"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/load"
)

// TestFoldRun runs the fold's bench on a small mix: it folds what it says and allocates next to nothing.
func TestFoldRun(t *testing.T) {
	for _, mix := range []string{"S", "all"} {
		m := load.Mixes["S"]
		if mix == "all" {
			m.Deliveries, m.Threads = 2, 3
		}
		r, allocs, err := foldRun(task{"small", m, fanoutOff(), mix == "all", 20_000, pace{}})
		if err != nil {
			t.Fatal(err)
		}
		if r.CPU <= 0 || r.Rate <= 0 || allocs <= 0 || allocs > 5 || strings.Contains(r.Note, " 0.00 deltas") != (mix == "all") {
			t.Fatalf("%+v, %v allocations", r, allocs)
		}
	}
}

// TestEqualPace: pages share as many events whatever the number of channels, and no pair is read twice in a batch.
func TestEqualPace(t *testing.T) {
	m := load.Mixes["S"]
	for _, channels := range []int{100, 1000} {
		m.Channels = channels
		p := equalPace(m)
		if perChannel := float64(p.cut) / float64(channels); p.drain != foldBatch || perChannel < 5 || perChannel > 15 {
			t.Errorf("with %d channels %+v", channels, p)
		}
		a, dec := &apart{g: load.New(m)}, events.Decoder{}
		for range 20 {
			seen := map[string]bool{}
			for range foldBatch {
				e := a.next()
				var r events.Read
				if e.Input != events.Reads {
					continue
				}
				if err := dec.Read(e.Value, e.Millis, &r); err != nil {
					t.Fatal(err)
				}
				pair := string(r.ChannelID) + " " + string(r.UserID)
				if seen[pair] {
					t.Fatalf("with %d channels %s is read twice in a batch", channels, pair)
				}
				seen[pair] = true
			}
		}
	}
	if _, _, err := foldRun(task{"small", m, fanoutOff(), false, 2_000, equalPace(m)}); err != nil {
		t.Fatal(err)
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
	if err := Print(&b, []Result{
		{Name: "a", CPU: 1.234, Rate: 1000, Goals: []Goal{atMost("apples", 3.14159, 4), atLeast("pears", 1, 2)}, Note: "n"},
		{Name: "longer"},
	}); err != nil {
		t.Fatal(err)
	}
	want := `WHAT    CPU-S/MEV  EVENTS/S  GOAL                          NOTE
a       1.23       1000      3.14 apples, at most 4: met   n
                             1 pears, at least 2: NOT MET  
longer  -          -         -                             
`
	if b.String() != want {
		t.Fatalf("%s, want\n%s", b.String(), want)
	}
}

// TestMeter counts what this process uses, and not as somebody else's.
func TestMeter(t *testing.T) {
	m, err := newMeter()
	if err != nil {
		t.Fatal(err)
	}
	m.start()
	for begun := selfCPU(); selfCPU()-begun < 50*time.Millisecond; {
		continue
	}
	if r := m.stop("busy", 1_000_000); r.CPU < 0.05 || r.Rate <= 0 {
		t.Fatalf("%+v after 50 ms of CPU time", r)
	}
	if machineCPU() <= 0 {
		t.Fatal("the machine was never busy")
	}
}

func TestResident(t *testing.T) {
	now, largest := resident()
	if now < 1<<20 || largest < now {
		t.Fatalf("%d bytes resident, %d at most", now, largest)
	}
}

// TestSnapshotRun runs the bench of snapshots on a small partition.
func TestSnapshotRun(t *testing.T) {
	results, err := snapshots(t.Context(), 1_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 || results[0].Goals[0].Got <= 0 || results[1].Goals[0].Got <= 0 || !strings.Contains(results[1].Name, "0.05M pairs") {
		t.Errorf("%+v", results)
	}
}
