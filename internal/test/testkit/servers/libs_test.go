package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// mavenStub puts an mvn into PATH that adds a line to the returned file at each call, takes a
// while, and leaves one jar.
func mavenStub(t *testing.T) (calls string) {
	t.Helper()
	bin, calls := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	script := fmt.Sprintf(`#!/bin/sh
echo "$@" >> %s
sleep 0.1
for a in "$@"; do case $a in -DoutputDirectory=*) echo jar > "${a#*=}/a.jar";; esac; done
`, calls)
	if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return calls
}

func countLines(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(b, []byte("\n"))
}

func TestLibsAreFetchedOnceAndAgainWhenTheirListChanges(t *testing.T) {
	calls := mavenStub(t)
	pom, dir := filepath.Join(t.TempDir(), "pom.xml"), filepath.Join(t.TempDir(), "cache", "kafka")
	for round, list := range []string{"one", "two"} {
		if err := os.WriteFile(pom, []byte(list), 0o644); err != nil {
			t.Fatal(err)
		}
		// At the start of a run, several test binaries call KafkaLibs at the same time.
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				got, err := fetchLibs(context.Background(), pom, dir)
				if err != nil || got != dir {
					t.Errorf("fetchLibs: %q, %v", got, err)
				}
				if _, err := os.Stat(filepath.Join(dir, "a.jar")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := countLines(t, calls); got != round+1 {
			t.Errorf("%d calls of mvn after round %d", got, round+1)
		}
	}
	left, err := filepath.Glob(dir + ".part-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAFailedFetchLeavesNoFolderAndSaysWhatMavenSaid(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte("#!/bin/sh\necho no route to the repository; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	pom, dir := filepath.Join(t.TempDir(), "pom.xml"), filepath.Join(t.TempDir(), "kafka")
	if err := os.WriteFile(pom, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := fetchLibs(context.Background(), pom, dir)
	if err == nil || !strings.Contains(err.Error(), "no route to the repository") {
		t.Errorf("fetchLibs: %v", err)
	}
	if !removed(dir) {
		t.Errorf("%s is there", dir)
	}
}

func TestAMissingProgramIsSaidInOneLine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := StartRedis(context.Background())
	if err == nil || !strings.Contains(err.Error(), "apt-get install redis-server") || strings.Contains(err.Error(), "\n") {
		t.Errorf("StartRedis without redis-server: %v", err)
	}
	_, err = StartKafka(context.Background(), KafkaOptions{})
	if err == nil || !strings.Contains(err.Error(), "apt-get install openjdk-17-jre-headless") {
		t.Errorf("StartKafka without Java: %v", err)
	}
}

func TestAFolderNamedByTheEnvironmentIsTakenOnlyWithTheJars(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(LibsEnv, dir)
	if _, err := KafkaLibs(context.Background()); err == nil || !strings.Contains(err.Error(), LibsEnv) {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kafka_2.13-"+KafkaVersion+".jar"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := KafkaLibs(context.Background()); got != dir || err != nil {
		t.Errorf("KafkaLibs: %q, %v", got, err)
	}
}

func TestKafkaVersionIsThatOfThePoms(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"kafka", "examples"} {
		pom, err := os.ReadFile(filepath.Join(root, "tools", tool, "pom.xml"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(pom, []byte("<kafka.version>"+KafkaVersion+"</kafka.version>")) {
			t.Errorf("tools/%s/pom.xml does not name Kafka %s", tool, KafkaVersion)
		}
	}
}
