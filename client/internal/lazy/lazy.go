// Package lazy makes a part of something when it is needed first. To whoever never
// needs the part it costs one pointer.
package lazy

import "sync/atomic"

// Part is such a part. Its methods may be called from many goroutines at once.
type Part[T any] struct{ part atomic.Pointer[T] }

// Get returns the part, whose zero value is ready for use.
func (p *Part[T]) Get() *T { return p.Make(func() *T { return new(T) }) }

// Make returns the part, which how makes if there is none. When two goroutines ask
// at the same time, how may run twice, and one of its results is dropped.
func (p *Part[T]) Make(how func() *T) *T {
	part := p.part.Load()
	if part == nil {
		p.part.CompareAndSwap(nil, how())
		part = p.part.Load()
	}
	return part
}

// Peek returns the part if there is one, else nil.
func (p *Part[T]) Peek() *T { return p.part.Load() }

// Set replaces the part.
func (p *Part[T]) Set(part *T) { p.part.Store(part) }
