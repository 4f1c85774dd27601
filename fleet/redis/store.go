package fleetredis

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/toolcache"
)

const (
	// maxShared limits a list of tools in Redis, with its head.
	maxShared = 1 << 20
	// maxLife limits how long Redis keeps a list.
	maxLife = time.Hour
)

// Store returns a store of tool lists that the fleet shares, for
// [toolcache.Settings].Durable. A process without a list takes one that
// another process has fetched, with its remaining time to live. Use it with
// SharePublic; otherwise processes with different credentials do not find each
// other's lists.
//
// Only lists that the server calls public leave the process, with a time to
// live from the server and up to 1 MiB. The cache checks lists from the store
// like answers of the server. Without [Settings].SigningKeys, other users of
// this Redis can write lists: set keys unless you trust them.
//
// Only fetches use the store, for at most 50 ms. While Redis is unavailable,
// the store finds and keeps nothing, without an error. Two processes that find
// nothing both ask the server. A process that began its fetch earlier may
// overwrite a newer list, which then counts as fresh for its remaining time.
func (f *Fleet) Store() toolcache.Store { return store{f} }

type store struct{ f *Fleet }

// head is the first line before a list.
type head struct {
	V    int    `json:"v"`
	Hash string `json:"hash"`
	MS   int64  `json:"ms"` // how long the server wants the list to be fresh
	// Sent is when it was signed, as in a hint.
	Sent int64 `json:"sent,omitempty"`
}

// Load implements [toolcache.Store].
func (s store) Load(ctx context.Context, key string) (toolcache.Entry, error) {
	replies, err := s.f.ask(ctx, []order{{kind: orderLoad, key: key}})
	if err != nil || replies[0].raw == "" && replies[0].err == nil {
		return toolcache.Entry{}, nil //nolint:nilerr // without Redis there is no list, which is no fault
	}
	e, err := s.read(key, replies[0])
	if err != nil {
		s.f.refuse(err)
		return toolcache.Entry{}, nil
	}
	return e, nil
}

// read reads an untrusted list.
func (s store) read(key string, r reply) (toolcache.Entry, error) {
	if r.err != nil || len(r.raw) > maxShared || r.left <= 0 {
		return toolcache.Entry{}, errHint
	}
	body, err := s.f.sign.check(aList+key, r.raw)
	if err != nil {
		return toolcache.Entry{}, err
	}
	line, list, found := strings.Cut(body, "\n")
	var h head
	ok := found && len(line) < maxHintBytes && json.Unmarshal([]byte(line), &h) == nil && h.V == version
	ttl := time.Duration(min(max(h.MS, 0), maxDays)) * time.Millisecond
	if !ok || h.MS > maxDays || r.left > ttl {
		return toolcache.Entry{}, errHint
	}
	now, left := time.Now(), r.left
	if len(s.f.sign.keys) > 0 {
		most, err := lifeLeft(now, h.Sent, min(ttl, maxLife))
		if err != nil {
			return toolcache.Entry{}, err
		}
		left = min(left, most)
	}
	return toolcache.Entry{
		// By this machine's clock, because the other's clock may be wrong.
		List: []byte(list), Hash: h.Hash, At: now.Add(left - ttl), TTL: &ttl, Public: true,
	}, nil
}

// aList and the key are the purpose in the signature of a list.
const aList = "tools:"

// maxDays limits a time in milliseconds to a day, as the cache does.
const maxDays = int64(24 * time.Hour / time.Millisecond)

// Save implements [toolcache.Store].
func (s store) Save(ctx context.Context, key string, e toolcache.Entry) error {
	if !e.Public || e.TTL == nil {
		// The earlier list may have been public.
		return s.Forget(ctx, key)
	}
	ttl := min(*e.TTL, time.Duration(maxDays)*time.Millisecond)
	left := ttl - max(0, time.Since(e.At))
	h := head{V: version, Hash: e.Hash, MS: ttl.Milliseconds()}
	if len(s.f.sign.keys) > 0 {
		h.Sent = time.Now().UnixMicro()
	}
	line, err := json.Marshal(h)
	if err != nil || left < time.Second || len(line)+1+len(e.List)+sigLen > maxShared {
		return s.Forget(ctx, key)
	}
	if left > maxLife { // treat it like a list with an hour left
		left = maxLife
	}
	return s.do(ctx, order{kind: orderSave, key: key, raw: s.f.sign.sign(aList+key, string(line)+"\n"+string(e.List)), hint: hint{lasts: left}})
}

// Forget implements [toolcache.Store].
func (s store) Forget(ctx context.Context, key string) error {
	return s.do(ctx, order{kind: orderForget, key: key})
}

func (s store) do(ctx context.Context, o order) error {
	replies, err := s.f.ask(ctx, []order{o})
	if err == nil && replies[0].err != nil {
		s.f.count.ignored.Add(1)
	}
	return nil // the list is fetched again if Redis does not keep it
}
