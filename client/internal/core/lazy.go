package core

import "sync/atomic"

// Lazy is such a part. Its methods may be called from many goroutines at once.
type Lazy[T any] struct{ part atomic.Pointer[T] }

// Get returns the part, whose zero value is ready for use.
func (p *Lazy[T]) Get() *T { return p.Make(func() *T { return new(T) }) }

// Make returns the part, which how makes if there is none. When two goroutines ask
// at the same time, how may run twice, and one of its results is dropped.
func (p *Lazy[T]) Make(how func() *T) *T {
	part := p.part.Load()
	if part == nil {
		p.part.CompareAndSwap(nil, how())
		part = p.part.Load()
	}
	return part
}

// Peek returns the part if there is one, else nil.
func (p *Lazy[T]) Peek() *T { return p.part.Load() }

// Set replaces the part.
func (p *Lazy[T]) Set(part *T) { p.part.Store(part) }
