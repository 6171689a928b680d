package gauge

import (
	"fmt"
	"time"
)

// Meter measures the CPU time of a process and of servers on this machine. The zero Meter measures
// this process alone.
type Meter struct {
	own     func() time.Duration // nil: SelfCPU
	pids    []int
	self    time.Duration
	servers time.Duration
	machine time.Duration
	began   time.Time
}

// NewMeter returns a Meter of this process and of the processes that listen on addrs.
func NewMeter(addrs ...string) (*Meter, error) { return newMeter(nil, addrs) }

// NewMeterOf is NewMeter for another process instead of this one.
func NewMeterOf(pid int, addrs ...string) (*Meter, error) {
	return newMeter(func() time.Duration { return processCPU(pid) }, addrs)
}

func newMeter(own func() time.Duration, addrs []string) (*Meter, error) {
	m := &Meter{own: own}
	for _, a := range addrs {
		pid, err := listener(a)
		if err != nil {
			return nil, err
		}
		m.pids = append(m.pids, pid)
	}
	return m, nil
}

func (m *Meter) ownCPU() time.Duration {
	if m.own == nil {
		return SelfCPU()
	}
	return m.own()
}

// Start begins a measurement.
func (m *Meter) Start() {
	m.began, m.self, m.servers, m.machine = time.Now(), m.ownCPU(), m.serverCPU(), MachineCPU()
}

func (m *Meter) serverCPU() (sum time.Duration) {
	for _, pid := range m.pids {
		sum += processCPU(pid)
	}
	return sum
}

// Stop returns the cost of n events since Start. Its note has the CPU time of other programs, which
// shows how reliable the rate is.
func (m *Meter) Stop(name string, n int) Result {
	wall, self, servers := time.Since(m.began), m.ownCPU()-m.self, m.serverCPU()-m.servers
	perMev := func(d time.Duration) float64 { return d.Seconds() / float64(n) * 1e6 }
	note := fmt.Sprintf("own %.2f, servers %.2f", perMev(self), perMev(servers))
	if machine := MachineCPU(); machine > 0 {
		others := max(0, machine-m.machine-self-servers)
		note += fmt.Sprintf("; other programs used %.1f cores", others.Seconds()/wall.Seconds())
	}
	return Result{Name: name, CPU: perMev(self + servers), Rate: float64(n) / wall.Seconds(), Note: note}
}
