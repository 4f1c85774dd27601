package sse

const (
	// firstChunk and fullChunk are sizes of the chunks for data: they double from one to the
	// other, then grow by an eighth of the present size, which wastes little.
	firstChunk = 4 << 10
	fullChunk  = 64 << 10
)

// gathered is text that arrives in pieces. Its chunks are joined once, which costs twice the size
// of the text; a growing buffer would cost four times as much.
type gathered struct {
	full [][]byte
	last []byte
	size int
}

// room returns space behind the text, from one byte to most. Written bytes count once
// [gathered.grow] has taken them.
func (g *gathered) room(most int) []byte {
	if len(g.last) == cap(g.last) {
		if g.size > 0 {
			g.full = append(g.full, g.last)
		}
		g.last = make([]byte, 0, max(firstChunk, min(g.size, fullChunk), g.size/8))
	}
	from := len(g.last)
	return g.last[from:min(from+most, cap(g.last))]
}

// grow takes n bytes of the space.
func (g *gathered) grow(n int) {
	g.last = g.last[:len(g.last)+n]
	g.size += n
}

// add appends a copy of p. The first piece gets exactly its own size, since most texts have only
// one.
func (g *gathered) add(p []byte) {
	if g.last == nil {
		g.last = make([]byte, 0, len(p))
	}
	for len(p) > 0 {
		n := copy(g.room(len(p)), p)
		g.grow(n)
		p = p[n:]
	}
}

// join returns the whole text, which the caller may keep.
func (g *gathered) join() []byte {
	if len(g.full) == 0 {
		return g.last
	}
	text := make([]byte, 0, g.size)
	for _, chunk := range g.full {
		text = append(text, chunk...)
	}
	return append(text, g.last...)
}

// head and tail return the start and the end of the text, at most [endBytes].
func (g *gathered) head() []byte {
	var head []byte
	for _, chunk := range append(g.full, g.last) {
		head = append(head, chunk[:min(len(chunk), endBytes-len(head))]...)
	}
	return head
}

func (g *gathered) tail() []byte {
	var tail []byte
	for _, chunk := range append(g.full, g.last) {
		tail = lastBytes(tail, chunk)
	}
	return tail
}
