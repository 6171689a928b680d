package servers

import (
	"errors"
	"os"
	"syscall"
)

// No process receives these signals, because none starts on Windows.
const (
	pauseSignal  = syscall.Signal(-1)
	resumeSignal = syscall.Signal(-2)
)

var errWindows = errors.New("servers for tests need process groups and signals, which Windows does not have: run these tests on Linux or macOS")

func ownGroup() (*syscall.SysProcAttr, error) { return nil, errWindows }

func signalGroup(int, syscall.Signal) error { return errWindows }

func lockExclusively(*os.File) error { return errWindows }
