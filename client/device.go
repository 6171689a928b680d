package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// State is the state of a device's connection.
type State string

// The states of a device.
const (
	Connecting State = "connecting"
	Open       State = "open"    // the gateway has sent its hello
	Waiting    State = "waiting" // between two attempts
	Gone       State = "closed"
)

// The close code that asks a client to wait longer, and the bound of that wait.
const (
	tooMany     = websocket.StatusCode(4429)
	tooManyWait = 4 * time.Second
	maxFrame    = 16 << 20
)

// DeviceConfig configures a Device. URL must be set.
type DeviceConfig struct {
	URL   string       // of a gateway, such as http://127.0.0.1:8080 or wss://chat.example/v1/socket
	User  string       // at a gateway without keys, or with a token of scope service
	Token TokenSource  // called for each connection; the token goes into a header, never into the URL
	HTTP  *http.Client // for the handshake; nil: http.DefaultClient
	// OnFrame is called with each frame of the gateway, one after the other, before the next one is
	// read. OnLost is called when a connection ends, with its close code, 0 if there was none.
	OnFrame func(Frame)
	OnLost  func(code int, reason string, retryIn time.Duration)

	CommandTimeout time.Duration // until a command without an answer fails; 30 s
	QuietTimeout   time.Duration // of silence, after which the device probes the gateway; 1 min
	AnswerTimeout  time.Duration // of that probe, of a handshake and of its token; 10 s
	MaxPending     int           // commands that may wait for an answer at the same time; 1,000

	least, most time.Duration // of waits between connections
}

// Device is one device of one user, connected to a gateway. When its connection ends it reconnects,
// after a growing wait, and restores the focus. Every connection begins with a snapshot, so the
// device misses nothing for good. Commands without an answer are sent again on the next connection;
// all of them are idempotent.
//
// Any number of goroutines may use it.
type Device struct {
	cfg    DeviceConfig
	url    string
	outbox *outbox
	cancel context.CancelFunc
	done   chan struct{}
	wait   backoff

	mu       sync.Mutex
	state    State
	inbox    Inbox
	changed  chan struct{} // closed and replaced by each change of inbox
	focused  map[ThreadKey]struct{}
	heads    map[string]int
	user     string
	instance string
}

// Connect starts to connect and returns at once. The device stays connected until Close.
func Connect(c DeviceConfig) (*Device, error) {
	address, err := socketURL(c.URL, c.User)
	if err != nil {
		return nil, err
	}
	setDefault(&c.CommandTimeout, 30*time.Second)
	setDefault(&c.QuietTimeout, time.Minute)
	setDefault(&c.AnswerTimeout, 10*time.Second)
	setDefault(&c.least, 250*time.Millisecond)
	setDefault(&c.most, 20*time.Second)
	setDefault(&c.MaxPending, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	d := &Device{
		cfg: c, url: address, outbox: newOutbox(c.CommandTimeout, c.MaxPending), cancel: cancel, done: make(chan struct{}),
		wait: backoff{least: c.least, most: c.most}, state: Connecting, changed: make(chan struct{}), focused: map[ThreadKey]struct{}{}, heads: map[string]int{},
	}
	go d.run(ctx)
	return d, nil
}

func setDefault[T ~int | ~int64](v *T, or T) {
	if *v <= 0 {
		*v = or
	}
}

func socketURL(text, user string) (string, error) {
	u, err := url.Parse(text)
	if err == nil {
		u.Scheme = strings.Replace(u.Scheme, "http", "ws", 1)
	}
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
		return "", fmt.Errorf("client: %q is not the URL of a gateway: write it as http://127.0.0.1:8080 or wss://host/v1/socket", text)
	}
	if u.Path = strings.TrimRight(u.Path, "/"); u.Path == "" {
		u.Path = "/v1/socket"
	}
	if user != "" {
		u.RawQuery = url.Values{"user_id": {user}}.Encode()
	}
	return u.String(), nil
}

// Close ends the connection for good. Commands without an answer fail; the last known state stays
// readable. Do not call Close from OnFrame or OnLost.
func (d *Device) Close() {
	d.cancel()
	<-d.done
}

// State returns the state of the connection.
func (d *Device) State() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

// Inbox returns the last known state. Without a connection it may be out of date.
func (d *Device) Inbox() Inbox {
	i, _ := d.current()
	return i
}

// Who returns the user and the name of this connection, as in the gateway's hello.
func (d *Device) Who() (user, instance string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.user, d.instance
}

// Ready waits for the first snapshot.
func (d *Device) Ready(ctx context.Context) (Inbox, error) {
	for i := range d.Inboxes(ctx) {
		return i, nil
	}
	if ctx.Err() != nil {
		return Inbox{}, context.Cause(ctx)
	}
	return Inbox{}, &Error{Code: Closed, Message: "the device was closed before a snapshot came"}
}

// Inboxes returns the current inbox, once it is known, and then each new one, until the loop, ctx
// or the device ends. A slow loop skips to the newest inbox.
func (d *Device) Inboxes(ctx context.Context) iter.Seq[Inbox] {
	return func(yield func(Inbox) bool) {
		for {
			i, changed := d.current()
			if i.Known && !yield(i) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-d.done:
				return
			case <-changed:
			}
		}
	}
}

func (d *Device) current() (Inbox, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inbox, d.changed
}

func (d *Device) setState(s State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = s
}

func (d *Device) run(ctx context.Context) {
	defer close(d.done)
	defer d.outbox.end()
	defer d.setState(Gone)
	for {
		d.setState(Connecting)
		code, reason := d.connection(ctx)
		d.outbox.closed()
		if ctx.Err() != nil {
			return
		}
		var bound time.Duration
		if code == tooMany {
			bound = tooManyWait
		}
		pause := d.wait.next(bound)
		d.setState(Waiting)
		if d.cfg.OnLost != nil {
			d.cfg.OnLost(int(max(code, 0)), reason, pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
