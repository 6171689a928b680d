package gateway

import "github.com/tidemark/tidemark/internal/guard"

// A level may hold until a time (DESIGN §4.7), and then nothing comes by Kafka: the gateway judges
// it by its own clock. Each user has a queue of the entries whose level will change, and an alarm
// for the earliest of them, so that one timer of the gateway serves all users. Totals are judged
// whenever a frame tells them, so that they are of one time, whichever alarms are late.

// time notes when the level of an entry will change. Called with the lock, after each change.
func (u *user) time(e *entry) {
	var until int64
	if e.ch != nil {
		until = e.view.Until()
	}
	if until == e.until {
		return
	}
	e.until = until
	if until == 0 {
		u.timed.Drop(&e.alarm)
	} else {
		e.alarm.Of = e
		u.timed.Put(&e.alarm, until)
	}
	if first, any := u.timed.First(); any {
		u.hub.alarms.Put(&u.alarm, first)
	} else {
		u.hub.alarms.Drop(&u.alarm)
	}
}

// judge changes the levels whose time has passed, and tells the user's devices. It returns the time
// of which the totals are now; 0 if they are of any. Called with the lock.
func (g *Gateway) judge(u *user) (at int64) {
	if u.timed.Len() == 0 {
		return 0
	}
	at = g.cfg.Now().UnixMilli()
	var due []*entry
	for {
		first, more := u.timed.First()
		if !more || first > at {
			break
		}
		e := u.timed.Take()
		e.until = 0
		u.change(e, func() { e.view.Judge(at) })
		due = append(due, e)
	}
	for _, e := range due {
		g.frameUpdate(u, e, "")
	}
	return at
}

// ring judges the levels of one user.
func (g *Gateway) ring(u *user) {
	h := u.hub
	err := guard.Do("the judging of levels", func() {
		h.locked(func() {
			if h.users[u.id] == u {
				g.judge(u)
			}
		})
	})
	if err != nil {
		g.panicked("levels are judged with the user's next change")(guard.Of(err))
	}
	h.kick()
}
