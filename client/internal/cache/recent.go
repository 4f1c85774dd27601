package cache

import (
	"slices"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// recent is a map that knows its least recently used key. The zero value is empty. Most caches
// hold one or two results, so the first few are in a slice: a larger container would dominate the
// cost of an idle client.
type recent[K comparable, V any] struct {
	few  []entry[K, V] // least recently used first
	many *simplelru.LRU[K, V]
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// maxFew is how many entries are searched without an index.
const maxFew = 8

// get returns the value of key, and counts as a use.
func (r *recent[K, V]) get(key K) (value V, ok bool) {
	if r.many != nil {
		return r.many.Get(key)
	}
	i := r.at(key)
	if i < 0 {
		return value, false
	}
	e := r.few[i]
	r.few = append(slices.Delete(r.few, i, i+1), e)
	return e.value, true
}

// peek is get without counting as a use.
func (r *recent[K, V]) peek(key K) (value V, ok bool) {
	if r.many != nil {
		return r.many.Peek(key)
	}
	if i := r.at(key); i >= 0 {
		return r.few[i].value, true
	}
	return value, false
}

// add adds a new key. The caller removes the excess over maxResponses.
func (r *recent[K, V]) add(key K, value V) {
	if r.many == nil && len(r.few) == maxFew {
		// The error is only for sizes below one.
		r.many, _ = simplelru.NewLRU[K, V](maxResponses+1, nil)
		for _, e := range r.few {
			r.many.Add(e.key, e.value)
		}
		r.few = nil
	}
	if r.many != nil {
		r.many.Add(key, value)
		return
	}
	r.few = append(r.few, entry[K, V]{key, value})
}

// take removes a key and returns its value.
func (r *recent[K, V]) take(key K) (value V, ok bool) {
	if value, ok = r.peek(key); !ok {
		return value, false
	}
	if r.many != nil {
		r.many.Remove(key)
	} else {
		i := r.at(key)
		r.few = slices.Delete(r.few, i, i+1)
	}
	return value, true
}

// oldest returns the least recently used key.
func (r *recent[K, V]) oldest() (key K, ok bool) {
	if r.many != nil {
		key, _, ok = r.many.GetOldest()
		return key, ok
	}
	if len(r.few) == 0 {
		return key, false
	}
	return r.few[0].key, true
}

// keys returns all keys.
func (r *recent[K, V]) keys() []K {
	if r.many != nil {
		return r.many.Keys()
	}
	all := make([]K, len(r.few))
	for i := range r.few {
		all[i] = r.few[i].key
	}
	return all
}

func (r *recent[K, V]) len() int {
	if r.many != nil {
		return r.many.Len()
	}
	return len(r.few)
}

func (r *recent[K, V]) at(key K) int {
	return slices.IndexFunc(r.few, func(e entry[K, V]) bool { return e.key == key })
}
