package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"
)

// Memory keeps records until the process ends. The zero Memory is empty and ready.
type Memory struct {
	turns turns[Key]

	mu      sync.Mutex
	records map[Key]*saved
}

// saved is a record as text, so that callers share no slices with the store. The map has pointers
// to it, because fmt does not follow pointers at that depth, even if a type around a Memory has no
// Format.
type saved struct{ text []byte }

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{} }

// Load implements [Store].
func (m *Memory) Load(ctx context.Context, key Key) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	m.mu.Lock()
	found := m.records[key]
	m.mu.Unlock()
	if found == nil {
		return Record{}, ErrNotFound
	}
	_, r, err := Decode(found.text)
	return r, err
}

// Update implements [Store].
func (m *Memory) Update(ctx context.Context, key Key, change func(Record) (Record, error)) error {
	done, err := m.turns.take(ctx, key)
	if err != nil {
		return err
	}
	defer done()
	return update(key, change, func() ([]byte, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if found := m.records[key]; found != nil {
			return found.text, nil
		}
		return nil, nil
	}, func(text []byte) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.records == nil {
			m.records = map[Key]*saved{}
		}
		m.records[key] = &saved{text}
		return nil
	})
}

// Delete implements [Store].
func (m *Memory) Delete(ctx context.Context, key Key) error {
	done, err := m.turns.take(ctx, key)
	if err != nil {
		return err
	}
	defer done()
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, key)
	return nil
}

// List implements [Store].
func (m *Memory) List(ctx context.Context) ([]Key, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := slices.Collect(maps.Keys(m.records))
	sortKeys(keys)
	return keys, nil
}

// String describes the store without its secrets.
func (m *Memory) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("memory store of %d records", len(m.records))
}

// GoString is String, so that %#v shows no secrets either.
func (m *Memory) GoString() string { return m.String() }

// Format writes String for every verb.
func (m *Memory) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(m.String())) }

func sortKeys(keys []Key) {
	sort.Slice(keys, func(i, j int) bool { return slices.Compare(keys[i].fields(), keys[j].fields()) < 0 })
}

func (k Key) fields() []string {
	return []string{k.Server, k.Issuer, k.Resource, k.ClientID, k.Principal}
}
