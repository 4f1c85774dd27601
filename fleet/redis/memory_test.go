package fleetredis

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
)

// memory is a hub in memory, with the rules of the scripts.
type memory struct {
	mu        sync.Mutex
	nodes     map[string]time.Time
	keys      map[string]value // open, probe and hold, by the names Redis has
	listeners map[*memoryNode]func(string)
}

type value struct {
	raw   string
	until time.Time
}

func newMemory() *memory {
	return &memory{nodes: map[string]time.Time{}, keys: map[string]value{}, listeners: map[*memoryNode]func(string){}}
}

// memoryNode is the connection of one node to the hub, which a test can break.
type memoryNode struct {
	*memory
	mu    sync.Mutex
	fault func(ctx context.Context) error // of exchange, nil for none
	deaf  bool                            // messages get lost
}

func (m *memoryNode) breaks(fault func(context.Context) error, deaf bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault, m.deaf = fault, deaf
}

func (m *memoryNode) broken() (func(context.Context) error, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fault, m.deaf
}

func refused(context.Context) error { return errors.New("connection refused") }

func blackHole(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func (m *memoryNode) exchange(ctx context.Context, orders []order) ([]reply, error) {
	if fault, _ := m.broken(); fault != nil {
		if err := fault(ctx); err != nil {
			return nil, err
		}
	}
	replies := make([]reply, 0, len(orders))
	for _, o := range orders {
		replies = append(replies, m.do(o))
	}
	return replies, nil
}

func (m *memory) do(o order) reply {
	m.mu.Lock()
	now := time.Now()
	h := o.hint
	open, probe, hold := "open:"+h.server+":"+h.node, "probe:"+h.server, "hold:"+h.server+":"+h.cred
	for k, v := range m.keys {
		if !v.until.After(now) {
			delete(m.keys, k)
		}
	}
	for n, until := range m.nodes {
		if !until.After(now) {
			delete(m.nodes, n)
		}
	}
	var r reply
	said := false
	switch o.kind {
	case orderPresent:
		m.nodes[h.node] = now.Add(presenceLasts)
		r.count = len(m.nodes)
	case orderOpen:
		m.keys[open], said = value{o.raw, now.Add(h.lasts)}, true
	case orderAbsent:
		delete(m.nodes, h.node)
	case orderClosed, orderLeave:
		delete(m.keys, open)
		if strings.HasPrefix(m.keys[probe].raw, h.node+" ") {
			delete(m.keys, probe)
		}
		said = true
	case orderLease:
		if v, taken := m.keys[probe]; taken {
			r.raw, r.left = v.raw, v.until.Sub(now)
		} else {
			m.keys[probe], said = value{h.node + " " + o.raw, now.Add(h.lasts)}, true
		}
	case orderHold:
		if v := m.keys[hold]; v.until.Before(now.Add(h.lasts)) {
			m.keys[hold] = value{o.raw, now.Add(h.lasts)}
		}
		said = true
	case orderReporters:
		for k := range m.keys {
			node, ok := strings.CutPrefix(k, "open:"+h.server+":")
			if _, present := m.nodes[node]; ok && present {
				r.nodes = append(r.nodes, node)
			}
		}
	case orderReport:
		if v, ok := m.keys[open]; ok {
			r.raw, r.left = v.raw, v.until.Sub(now)
		}
	case orderHeld:
		if v, ok := m.keys[hold]; ok {
			r.raw, r.left = v.raw, v.until.Sub(now)
		}
	default:
	}
	m.doList(o, now, &r)
	m.mu.Unlock()
	if said {
		m.say(o.raw)
	}
	return r
}

// doList is do for lists of tools. Requires m.mu.
func (m *memory) doList(o order, now time.Time, r *reply) {
	switch o.kind {
	case orderLoad:
		if v, ok := m.keys["tools:"+o.key]; ok {
			r.raw, r.left = v.raw[:min(len(v.raw), maxShared+1)], v.until.Sub(now)
		}
	case orderSave:
		m.keys["tools:"+o.key] = value{o.raw, now.Add(o.hint.lasts)}
	case orderForget:
		delete(m.keys, "tools:"+o.key)
	default:
	}
}

func (m *memory) say(raw string) {
	m.mu.Lock()
	tell := make([]func(string), 0, len(m.listeners))
	for n, f := range m.listeners {
		if _, deaf := n.broken(); !deaf {
			tell = append(tell, f)
		}
	}
	m.mu.Unlock()
	for _, f := range tell {
		f(raw)
	}
}

// flush does the same as FLUSHALL.
func (m *memory) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.nodes)
	clear(m.keys)
}

func (m *memoryNode) listen(ctx context.Context, joined func(), message func(string)) error {
	m.memory.mu.Lock()
	m.listeners[m] = message
	m.memory.mu.Unlock()
	joined()
	<-ctx.Done()
	m.memory.mu.Lock()
	delete(m.listeners, m)
	m.memory.mu.Unlock()
	return ctx.Err()
}

func (m *memoryNode) close() error { return nil }
