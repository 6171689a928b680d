package peer

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/reread"
)

const (
	// minSecret is the least length of a secret in bytes, maxSecrets the largest number in a file.
	minSecret  = 32
	maxSecrets = 8
	// maxSecretsFile bounds the file.
	maxSecretsFile = 64 << 10
)

// Secrets are the secrets of a file, one a line. The first one signs, and all verify. To change the
// secret, put the new one on the second line on all nodes, then on the first on all nodes, then
// remove the old one. The file is checked at most once a second; while it cannot be used, the last
// secrets stay valid.
type Secrets struct {
	file string
	log  *slog.Logger
	now  func() time.Time

	mu    sync.Mutex
	list  [][]byte
	files reread.Files
}

// OpenSecrets reads the file.
func OpenSecrets(file string, log *slog.Logger) (*Secrets, error) {
	s := &Secrets{file: file, log: log, now: time.Now}
	s.files.Begin(s.now(), file)
	var err error
	s.list, err = readSecrets(file)
	return s, err
}

// current returns the secrets, the signing one first.
func (s *Secrets) current() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if !s.files.Look(now) || !s.files.Changed() {
		return s.list
	}
	s.files.Begin(now, s.file)
	list, err := readSecrets(s.file)
	if s.files.Read(err) {
		s.log.Error("the secrets of the nodes cannot be read again, and the previous ones stay in use", "err", err)
	} else if err == nil {
		s.list = list
		s.log.Info("the secrets of the nodes were read again", "file", s.file, "secrets", len(list))
	}
	return s.list
}

func readSecrets(file string) ([][]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("secret of the nodes: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecretsFile {
		return nil, fmt.Errorf("secret of the nodes: %s is not a regular file of at most %d bytes", file, maxSecretsFile)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("secret of the nodes: %w", err)
	}
	list, err := parseSecrets(b)
	if err != nil {
		return nil, fmt.Errorf("secret of the nodes: %s: %w", file, err)
	}
	return list, nil
}

func parseSecrets(b []byte) (list [][]byte, err error) {
	for i, line := range bytes.Split(b, []byte{'\n'}) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case len(line) < minSecret:
			return nil, fmt.Errorf("line %d has %d bytes, want at least %d; `openssl rand -base64 32` makes one", i+1, len(line), minSecret)
		default:
			list = append(list, line)
		}
	}
	switch {
	case len(list) == 0:
		return nil, errors.New("it is empty; `openssl rand -base64 32` makes a secret")
	case len(list) > maxSecrets:
		return nil, fmt.Errorf("it has %d secrets, the limit is %d", len(list), maxSecrets)
	}
	return list, nil
}
