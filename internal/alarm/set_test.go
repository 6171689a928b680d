package alarm

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// running returns a running set, and the alarms that have rung with their times.
func running[T any](t *testing.T) (s *Set[T], rung func() ([]T, []time.Time)) {
	var mu sync.Mutex
	var list []T
	var at []time.Time
	s = New(time.Now, func(of T) {
		mu.Lock()
		defer mu.Unlock()
		list, at = append(list, of), append(at, time.Now())
	})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go s.Run(ctx)
	return s, func() ([]T, []time.Time) {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list), slices.Clone(at)
	}
}

// Alarms ring at their moments, in order. An alarm that was moved or dropped follows the last call.
func TestAlarmsRingAtTheirMoments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rung := running[string](t)
		begun := time.Now()
		in := func(d time.Duration) int64 { return begun.Add(d).UnixMilli() }
		a, b, c, d := &Alarm[string]{Of: "a"}, &Alarm[string]{Of: "b"}, &Alarm[string]{Of: "c"}, &Alarm[string]{Of: "d"}
		s.Put(a, in(3*time.Hour))
		s.Put(b, in(time.Hour))
		s.Put(c, in(2*time.Hour))
		s.Put(d, in(-time.Hour)) // in the past
		s.Put(a, in(time.Minute))
		s.Put(c, in(90*time.Minute))
		s.Drop(b)
		s.Drop(b)
		time.Sleep(24 * time.Hour)
		list, at := rung()
		if !slices.Equal(list, []string{"d", "a", "c"}) || s.Len() != 0 {
			t.Fatalf("rung: %v, %d are pending", list, s.Len())
		}
		for i, want := range []time.Duration{0, time.Minute, 90 * time.Minute} {
			if got := at[i].Sub(begun); got != want {
				t.Errorf("%s rang after %v, want %v", list[i], got, want)
			}
		}
		s.Put(a, time.Now().Add(time.Second).UnixMilli()) // after a while without alarms
		time.Sleep(time.Second + time.Millisecond)
		if list, _ = rung(); len(list) != 4 {
			t.Errorf("an alarm that has rung was put again and did not ring: %v", list)
		}
	})
}

// Any number of alarms, put and dropped in any order, ring in the order of their moments.
func TestAnyAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rung := running[int64](t)
		list := make([]*Alarm[int64], 500)
		var want []int64
		for i := range list {
			list[i] = &Alarm[int64]{}
		}
		for range 5_000 {
			a := list[rand.N(len(list))]
			if rand.N(3) == 0 {
				s.Drop(a)
				a.Of = 0
				continue
			}
			a.Of = time.Now().Add(time.Hour).UnixMilli() + rand.Int64N(1_000_000)
			s.Put(a, a.Of)
		}
		for _, a := range list {
			if a.Of > 0 {
				want = append(want, a.Of)
			}
		}
		slices.Sort(want)
		time.Sleep(2 * time.Hour)
		if got, _ := rung(); !slices.Equal(got, want) {
			t.Errorf("%d rang, want %d in order", len(got), len(want))
		}
	})
}

// Setting the clock forward makes alarms ring earlier.
func TestAClockThatIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var ahead time.Duration
		rung := make(chan struct{})
		s := New(func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(ahead)
		}, func(struct{}) { close(rung) })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Run(ctx)
		s.Put(&Alarm[struct{}]{}, time.Now().Add(24*time.Hour).UnixMilli())
		time.Sleep(time.Minute)
		mu.Lock()
		ahead = 24 * time.Hour
		mu.Unlock()
		select {
		case <-rung:
		case <-time.After(time.Second):
			t.Error("it did not ring within a second")
		}
	})
}

// 100,000 pending alarms need no goroutines, and each rings within a second after its moment.
func TestManyAlarms(t *testing.T) {
	const n = 100_000
	before := runtime.NumGoroutine()
	rang := make(chan struct{}, n)
	s := New(time.Now, func(int) { rang <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go s.Run(ctx)
	far := time.Now().Add(time.Hour).UnixMilli()
	for range n / 2 {
		s.Put(&Alarm[int]{}, far)
	}
	testkit.AtMost(t, "the last of 50,000 alarms rang after its moment", time.Second, func() time.Duration {
		soon := time.Now().Add(300 * time.Millisecond)
		for range n / 2 {
			s.Put(&Alarm[int]{}, soon.UnixMilli())
		}
		if more := runtime.NumGoroutine() - before; more > 2 {
			t.Errorf("%d goroutines serve them", more)
		}
		for range n / 2 {
			select {
			case <-rang:
			case <-time.After(2 * time.Minute):
				t.Fatal("they did not ring")
			}
		}
		return time.Since(soon)
	})
	if s.Len() != n/2 {
		t.Errorf("%d are pending", s.Len())
	}
}

// At is the moment of an alarm while it is pending.
func TestAt(t *testing.T) {
	var q Queue[int]
	var a, b, c Alarm[int]
	q.Put(&a, 30)
	q.Put(&b, 10)
	q.Put(&c, 20)
	q.Put(&a, 5)
	q.Drop(&c)
	if a.At() != 5 || b.At() != 10 || c.At() != 0 {
		t.Errorf("at %d, %d and %d", a.At(), b.At(), c.At())
	}
	if q.Take(); a.At() != 0 {
		t.Errorf("an alarm that was taken is at %d", a.At())
	}
}
