package client

import "sync/atomic"

// lazy is a part of a client that most clients never need: whoever asks for it
// first makes it, so that to the others it is one pointer. Safe for concurrent
// use.
type lazy[T any] struct{ part atomic.Pointer[T] }

// get returns the part, whose zero value is ready for use.
func (l *lazy[T]) get() *T { return l.made(func() *T { return new(T) }) }

// made returns the part; how makes it, perhaps in vain when two ask at the same
// time.
func (l *lazy[T]) made(how func() *T) *T {
	part := l.part.Load()
	if part == nil {
		l.part.CompareAndSwap(nil, how())
		part = l.part.Load()
	}
	return part
}

// peek returns the part if there is one, else nil.
func (l *lazy[T]) peek() *T { return l.part.Load() }
