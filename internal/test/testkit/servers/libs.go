package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// KafkaVersion is the version of Apache Kafka that tests run against. tools/kafka/pom.xml and
// kafka-compose.yml have the same one.
const KafkaVersion = "4.1.1"

// LibsEnv names the environment variable with the folder of Kafka's jars, for machines that have
// them elsewhere.
const LibsEnv = "TIDEMARK_TEST_KAFKA_LIBS"

// KafkaLibs returns the folder with the jars of a Kafka broker and fetches them with Maven when
// they are missing: $TIDEMARK_TEST_KAFKA_LIBS if set, else tidemark/kafka-VERSION in the user's
// cache folder. Test binaries that run at the same time wait for one download. The default folder
// has a copy of its pom.xml. KafkaLibs replaces the folder when the project's pom.xml differs.
func KafkaLibs(ctx context.Context) (string, error) {
	if dir := os.Getenv(LibsEnv); dir != "" {
		jar := filepath.Join(dir, "kafka_2.13-"+KafkaVersion+".jar")
		if _, err := os.Stat(jar); err != nil {
			return "", fmt.Errorf("%s names a folder without Kafka %s: %w (unset it to have the jars fetched)", LibsEnv, KafkaVersion, err)
		}
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for Kafka's jars: %w (set %s)", err, LibsEnv)
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	return fetchLibs(ctx, filepath.Join(root, "tools", "kafka", "pom.xml"), filepath.Join(cache, "tidemark", "kafka-"+KafkaVersion))
}

// fetchLibs fills dir with the dependencies of pom unless it already has them.
func fetchLibs(ctx context.Context, pom, dir string) (string, error) {
	want, err := os.ReadFile(pom)
	if err != nil {
		return "", fmt.Errorf("the list of jars: %w", err)
	}
	have, err := os.ReadFile(filepath.Join(dir, "pom.xml"))
	if err == nil && bytes.Equal(have, want) {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("folder for jars: %w", err)
	}
	unlock, err := lockFile(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	have, err = os.ReadFile(filepath.Join(dir, "pom.xml"))
	if err == nil && bytes.Equal(have, want) { // fetched by another process in the meantime
		return dir, nil
	}

	mvn, err := lookPath("mvn", "Maven", "maven")
	if err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".part-")
	if err != nil {
		return "", fmt.Errorf("folder for jars: %w", err)
	}
	defer os.RemoveAll(part)
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "-f", pom, "dependency:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory="+part)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch the jars of %s with %s: %w\n%s", pom, cmd, err, out)
	}
	if err := os.WriteFile(filepath.Join(part, "pom.xml"), want, 0o644); err != nil {
		return "", fmt.Errorf("mark the folder of jars complete: %w", err)
	}
	// MkdirTemp creates a private folder, but users may share a cache.
	if err := os.Chmod(part, 0o755); err != nil {
		return "", err
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("remove outdated jars: %w", err)
	}
	if err := os.Rename(part, dir); err != nil {
		return "", fmt.Errorf("put the jars in place: %w", err)
	}
	return dir, nil
}

// lockFile takes an exclusive lock that the kernel drops when this process ends.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := lockExclusively(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// moduleRoot returns the nearest folder above the working directory with a go.mod. Tests run in
// their package's folder.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module's root: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(filepath.Join(at, "go.mod"))
		if err == nil {
			return at, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find the module's root: %w", err)
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no go.mod in %s or above it: run this in Tidemark's tree, or set %s", dir, LibsEnv)
		}
	}
}

// lookPath finds a program, or returns an error that names its package.
func lookPath(program, what, pkg string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%s (%s) is not installed: install it, for example with `apt-get install %s`", what, program, pkg)
	}
	return path, nil
}
