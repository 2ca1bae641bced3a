package sno

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"
)

// server has numbers as IDs, and waits for a gate that is closed.
type server struct {
	lock    sync.Mutex
	numbers uint16
	calls   int
	err     error
	gate    chan struct{}
}

func (s *server) fetch(count int) (ids []ID, err error) {
	s.lock.Lock()
	s.calls++
	gate := s.gate
	s.lock.Unlock()
	if gate != nil {
		<-gate
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	for i := 0; i < count; i++ {
		ids = append(ids, number(s.numbers))
		s.numbers++
	}
	return ids, nil
}

// is waits until what the server has counted is so.
func (s *server) is(condition func() bool) {
	for {
		s.lock.Lock()
		is := condition()
		s.lock.Unlock()
		if is {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func number(n uint16) (id ID) {
	binary.BigEndian.PutUint16(id[8:], n)
	return id
}

func next(t *testing.T, pool *Pool, first, after uint16) {
	t.Helper()
	for n := first; n < after; n++ {
		if id, err := pool.Next(context.Background()); id != number(n) || err != nil {
			t.Fatal(n, id, err)
		}
	}
}

func TestPoolOrder(t *testing.T) {
	s := &server{}
	pool := &Pool{Fetch: s.fetch, Size: 10, MaxAge: time.Hour}
	next(t, pool, 0, 5)
	s.is(func() bool { return s.numbers == 20 })
	pool.lock.Lock() // The fetch has ended; so has its refill, once it has this lock.
	pool.lock.Unlock()
	gate := make(chan struct{})
	s.is(func() bool { s.gate = gate; return true })
	// The second buffer is there, so nothing waits for the third.
	next(t, pool, 5, 20)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := pool.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	close(gate)
	next(t, pool, 20, 21)
}

func TestPoolGoroutines(t *testing.T) {
	s := &server{}
	pool := &Pool{Fetch: s.fetch}
	var taken sync.Map
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 1000; i++ {
				id, err := pool.Next(context.Background())
				if _, twice := taken.LoadOrStore(id, true); twice || err != nil {
					t.Error(id, err)
				}
			}
		}()
	}
	group.Wait()
	if s.is(func() bool { return true }); s.calls > 82 {
		t.Error(s.calls)
	}
}

func TestPoolSize(t *testing.T) {
	for _, size := range []int{0, -1} {
		s := &server{}
		if id, err := (&Pool{Fetch: s.fetch, Size: size}).Next(context.Background()); err != nil || id != number(0) {
			t.Error(size, id, err)
		}
	}
}

func TestPoolAge(t *testing.T) {
	s := &server{}
	pool := &Pool{Fetch: s.fetch, Size: 10, MaxAge: 50 * time.Millisecond}
	next(t, pool, 0, 1)
	time.Sleep(60 * time.Millisecond)
	next(t, pool, 10, 11)
}

func TestPoolError(t *testing.T) {
	s, gone := &server{}, errors.New("the server is gone")
	pool := &Pool{Fetch: s.fetch, Size: 10, MaxAge: time.Hour}
	next(t, pool, 0, 4)
	s.is(func() bool { s.err = gone; return true })
	next(t, pool, 4, 5)
	s.is(func() bool { pool.lock.Lock(); defer pool.lock.Unlock(); return pool.buffers == nil })
	if id, err := pool.Next(context.Background()); err != gone || id != (ID{}) {
		t.Error(id, err)
	}
	s.is(func() bool { s.err = nil; return true })
	next(t, pool, 10, 11)
	none := &Pool{Fetch: func(int) ([]ID, error) { return nil, nil }}
	if _, err := none.Next(context.Background()); err == nil {
		t.Error("no IDs")
	}
}

func TestPoolClear(t *testing.T) {
	s := &server{gate: make(chan struct{})}
	pool := &Pool{Fetch: s.fetch, Size: 10, MaxAge: time.Hour}
	var group sync.WaitGroup
	for calls := 1; calls <= 2; calls++ {
		group.Add(1)
		go func() {
			defer group.Done()
			if _, err := pool.Next(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		s.is(func() bool { return s.calls == calls })
		if calls == 1 {
			pool.Clear()
		}
	}
	close(s.gate)
	group.Wait()
	// What was fetched before is not in it.
	if pool.lock.Lock(); len(pool.buffers) != 1 || len(pool.buffers[0].ids) != 8 {
		t.Error(pool.buffers)
	}
	pool.lock.Unlock()
}
