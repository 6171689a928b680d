package snapshot_test

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
)

// fakeGCS builds the emulator of Google Cloud Storage that tools/fakegcs.mod pins, once, and
// returns its path in the build cache.
var fakeGCS = sync.OnceValues(func() (string, error) {
	path, err := exec.Command("go", "tool", "-modfile=../tools/fakegcs.mod", "-n", "fake-gcs-server").Output()
	if err != nil {
		return "", fmt.Errorf("building fake-gcs-server: %w", err)
	}
	return strings.TrimSpace(string(path)), nil
})

// startGCS starts an emulator with an empty bucket and returns the bucket's URL.
func startGCS(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds fake-gcs-server, which -short leaves out")
	}
	program, err := fakeGCS()
	if err != nil {
		t.Fatal(err)
	}
	at := freeAddress(t)
	host, port, _ := strings.Cut(at, ":")
	serve(t, at, nil, program, "-scheme", "http", "-backend", "memory", "-host", host, "-port", port, "-public-host", at, "-external-url", "http://"+at)
	r, err := http.Post("http://"+at+"/storage/v1/b?project=tidemark", "application/json", strings.NewReader(`{"name":"tidemark"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _ = r.Body.Close(); r.StatusCode != http.StatusOK {
		t.Fatal(r.Status)
	}
	return "gs://tidemark/some/prefix?insecure=true&endpoint=" + at
}

// azurite names the environment variable with the path of azurite-blob, which `make test-azure`
// installs.
const azurite = "TIDEMARK_TEST_AZURITE"

// startAzure starts an emulator with an empty container and returns the container's URL.
func startAzure(t *testing.T) string {
	t.Helper()
	program := os.Getenv(azurite)
	if program == "" {
		t.Skip("needs Azurite: make test-azure")
	}
	at := freeAddress(t)
	host, port, _ := strings.Cut(at, ":")
	key := base64.StdEncoding.EncodeToString([]byte("a key of the tests of the snapshots"))
	t.Setenv("AZURE_STORAGE_KEY", key)
	serve(t, at, []string{"AZURITE_ACCOUNTS=tidemark:" + key}, program, "--blobHost", host, "--blobPort", port, "--location", t.TempDir(),
		"--disableTelemetry", "--skipApiVersionCheck", "--silent")
	credential, err := azblob.NewSharedKeyCredential("tidemark", key)
	if err != nil {
		t.Fatal(err)
	}
	client, err := azblob.NewClientWithSharedKeyCredential("http://"+at+"/tidemark/", credential, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateContainer(t.Context(), "backups", nil); err != nil {
		t.Fatal(err)
	}
	return "az://tidemark/backups/some/prefix?insecure=true&endpoint=" + at
}

// freeAddress returns an address on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// serve runs a program until the end of the test, and returns when it listens at an address.
func serve(t *testing.T, at string, env []string, program string, args ...string) {
	t.Helper()
	var said strings.Builder
	c := exec.Command(program, args...)
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), env...), &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		http.DefaultClient.CloseIdleConnections()
		if t.Failed() {
			t.Logf("%s said:\n%s", program, said.String())
		}
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", at)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
