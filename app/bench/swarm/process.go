package swarm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// Process is a running swarm, as the bench sees it.
type Process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start runs a program that calls Run with its standard input and output.
func Start(ctx context.Context, program []string, stderr io.Writer) (*Process, error) {
	p := &Process{cmd: exec.CommandContext(ctx, program[0], program[1:]...)}
	p.cmd.Stderr = stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// Do gives an order and waits for its answer.
func (p *Process) Do(o Order) (a Answer, err error) {
	if err := json.NewEncoder(p.in).Encode(o); err != nil {
		return a, fmt.Errorf("the clients' process: %w", err)
	}
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		return a, fmt.Errorf("the clients' process: %w", err)
	}
	if a.Error != "" {
		return a, errors.New("the clients' process: " + a.Error)
	}
	return a, nil
}

// Connect gives an order to connect users. It fails if a user did not get their inbox.
func (p *Process) Connect(o Order) (Answer, error) {
	a, err := p.Do(o)
	if err == nil && a.Failed > 0 {
		err = fmt.Errorf("%d of %d users did not get their inbox: %s", a.Failed, len(o.Connect), a.Why)
	}
	return a, err
}

// Close ends the process.
func (p *Process) Close() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }
