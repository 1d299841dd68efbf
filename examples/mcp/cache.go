package main

import (
	"container/list"
	"context"
	"sync"
)

// defaultCache is how many bytes of finished analyses are kept.
const defaultCache = 64 << 20

// cache keeps documents, the most recently used ones, in at most so many bytes. Equal questions at one time are
// answered once.
type cache struct {
	most int64

	mu      sync.Mutex
	size    int64
	order   *list.List // of *entry, the last used first
	entries map[string]*list.Element
	running map[string]*run
}

type entry struct {
	key  string
	data []byte
}

// run is an analysis that is being made.
type run struct {
	done    chan struct{}
	waiting int
	stop    context.CancelFunc
	data    []byte
	err     error
}

func newCache(most int64) *cache {
	return &cache{most: most, order: list.New(), entries: map[string]*list.Element{}, running: map[string]*run{}}
}

// get returns the document of a key, made by make where it is not kept. An analysis ends when nobody waits for it any
// more.
func (c *cache) get(ctx context.Context, key string, make func(context.Context) ([]byte, error)) ([]byte, error) {
	c.mu.Lock()
	if e, ok := c.entries[key]; ok {
		c.order.MoveToFront(e)
		c.mu.Unlock()
		return e.Value.(*entry).data, nil
	}
	r := c.running[key]
	if r == nil {
		work, stop := context.WithCancel(context.WithoutCancel(ctx))
		r = &run{done: closing(), stop: stop}
		c.running[key] = r
		go func() {
			r.data, r.err = make(work)
			c.finish(key, r)
			stop()
		}()
	}
	r.waiting++
	c.mu.Unlock()
	select {
	case <-r.done:
		return r.data, r.err
	case <-ctx.Done():
		c.mu.Lock()
		if r.waiting--; r.waiting == 0 {
			r.stop()
			if c.running[key] == r {
				delete(c.running, key) // the next one who asks starts anew
			}
		}
		c.mu.Unlock()
		return nil, ctx.Err()
	}
}

func closing() chan struct{} { return make(chan struct{}) }

// finish keeps the result, if it has room, and wakes those who wait.
func (c *cache) finish(key string, r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[key] == r {
		delete(c.running, key)
	}
	if n := int64(len(r.data)); r.err == nil && n <= c.most {
		for c.size+n > c.most {
			last := c.order.Back()
			old := c.order.Remove(last).(*entry)
			delete(c.entries, old.key)
			c.size -= int64(len(old.data))
		}
		c.entries[key] = c.order.PushFront(&entry{key, r.data})
		c.size += n
	}
	close(r.done)
}

// bytes is how much is kept.
func (c *cache) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}
