package sno

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Pool has IDs that the server has generated: an ID before the insert, without a round trip. Goroutines can share it.
type Pool struct {
	// Fetch returns so many new IDs, in a time that it limits itself.
	Fetch  func(count int) ([]ID, error)
	Size   int           // how many IDs to fetch, 100 if not positive: the pool has up to one and a half times as many
	MaxAge time.Duration // when fetched IDs are dropped, after a second if zero

	lock    sync.Mutex
	buffers []buffer // one in use, and the next one, which is fetched when half of the first is left
	refill  *refill
}

type buffer struct {
	ids     []ID
	fetched time.Time
}

type refill struct {
	done chan struct{}
	err  error
}

// Next is an ID of the pool. It waits only if there is none, and returns the error of Fetch.
func (p *Pool) Next(ctx context.Context) (ID, error) {
	for {
		id, found, refill := p.take()
		if found {
			return id, nil
		}
		select {
		case <-refill.done:
			if refill.err != nil {
				return ID{}, refill.err
			}
		case <-ctx.Done():
			return ID{}, ctx.Err()
		}
	}
}

// Clear drops all IDs, and those that are being fetched: after an error that a failover causes.
func (p *Pool) Clear() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.buffers, p.refill = nil, nil
}

func (p *Pool) take() (id ID, found bool, _ *refill) {
	p.lock.Lock()
	defer p.lock.Unlock()
	size, maxAge := p.Size, p.MaxAge
	if size <= 0 {
		size = 100
	}
	if maxAge == 0 {
		maxAge = time.Second
	}
	for len(p.buffers) > 0 && (len(p.buffers[0].ids) == 0 || time.Since(p.buffers[0].fetched) > maxAge) {
		p.buffers = p.buffers[1:]
	}
	left := 0
	if found = len(p.buffers) > 0; found {
		first := &p.buffers[0]
		id, first.ids = first.ids[0], first.ids[1:]
	}
	for _, buffer := range p.buffers {
		left += len(buffer.ids)
	}
	if left <= size/2 && p.refill == nil {
		p.refill = &refill{done: make(chan struct{})}
		go p.fill(p.refill, size)
	}
	return id, found, p.refill
}

func (p *Pool) fill(refill *refill, size int) {
	ids, err := p.Fetch(size)
	if err == nil && len(ids) == 0 {
		err = errors.New("sno: no ID was fetched")
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	defer close(refill.done)
	refill.err = err
	if p.refill != refill {
		return // Cleared meanwhile.
	}
	p.refill = nil
	if err == nil {
		p.buffers = append(p.buffers, buffer{ids, time.Now()})
	} else {
		p.buffers = nil
	}
}
