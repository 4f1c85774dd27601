package mcp

// slab hands out values from blocks that grow: one of them costs what it costs
// alone, a thousand cost a few allocations. A block lives as long as one of its
// values.
type slab[T any] struct {
	free []T
	last int // the size of the last block
}

const maxSlab = 64

func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.last = min(max(1, 2*s.last), maxSlab)
		s.free = make([]T, s.last)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}
