package core

import "sync/atomic"

// Lazy creates a value on first use; an unused value costs one pointer. Its methods may be
// called from many goroutines at once.
type Lazy[T any] struct{ part atomic.Pointer[T] }

// Get returns the value, whose zero value is ready for use.
func (p *Lazy[T]) Get() *T { return p.Make(func() *T { return new(T) }) }

// Make returns the value, and creates it with how if there is none. If two goroutines call Make
// at the same time, how may run twice, and one result is dropped.
func (p *Lazy[T]) Make(how func() *T) *T {
	part := p.part.Load()
	if part == nil {
		p.part.CompareAndSwap(nil, how())
		part = p.part.Load()
	}
	return part
}

// Peek returns the value, nil if there is none.
func (p *Lazy[T]) Peek() *T { return p.part.Load() }

// Set replaces the value.
func (p *Lazy[T]) Set(part *T) { p.part.Store(part) }
