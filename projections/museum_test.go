package projections_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// museum lists defects of other products that concern the counts of channels and threads. Each is a
// story in testdata/museum; its first lines describe what users saw and the cause.
var museum = []int{
	1, 2, 4, 6, 9, 10, 12, 15, 16, 21, 23, 25, 28, 30, 31, 35, 38, 39, 40, 43, 46, 47, 48, 49, 50, 53, 55, 56, 57, 59, 62, 64,
	68, 71, 73, 75,
}

// TestMuseum runs the stories as TestGolden does, each as a test of its own.
func TestMuseum(t *testing.T) {
	for _, n := range museum {
		t.Run(fmt.Sprintf("museum-%d", n), func(t *testing.T) {
			file := fmt.Sprintf("testdata/museum/%02d.txt", n)
			wrong := firstLine(t, file)
			if !strings.HasPrefix(wrong, "# ") {
				t.Errorf("%s must begin with what went wrong elsewhere, not with %q", file, wrong)
			}
			runGolden(t, file)
		})
	}
}

// TestMuseumIsComplete: a story that no test runs is an error.
func TestMuseumIsComplete(t *testing.T) {
	files, err := os.ReadDir("testdata/museum")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(museum) {
		t.Errorf("testdata/museum has %d stories, %d are told", len(files), len(museum))
	}
}

func firstLine(t *testing.T, file string) string {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	s := bufio.NewScanner(f)
	if !s.Scan() {
		t.Fatalf("%s is empty: %v", file, s.Err())
	}
	return s.Text()
}
