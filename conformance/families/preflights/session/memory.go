package session

import "container/list"

// memory is a set of at most size ids; the one asked for longest ago is
// forgotten first.
type memory struct {
	size int
	ids  map[string]*list.Element
	use  *list.List
}

func newMemory(size int) *memory {
	return &memory{size: size, ids: make(map[string]*list.Element), use: list.New()}
}

func (m *memory) add(id string) {
	m.ids[id] = m.use.PushBack(id)
	if m.use.Len() > m.size {
		if oldest, ok := m.use.Remove(m.use.Front()).(string); ok {
			delete(m.ids, oldest)
		}
	}
}

func (m *memory) has(id string) bool {
	el, ok := m.ids[id]
	if ok {
		m.use.MoveToBack(el)
	}
	return ok
}
