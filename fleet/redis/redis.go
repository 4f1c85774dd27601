package fleetredis

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// The scripts run in Redis, so that each is atomic. They use only the clock of Redis. Every
// key that they write expires, so a fleet that crashes leaves no data behind. They replace
// keys of another type.

// present: KEYS nodes; ARGV node, ms. Returns how many nodes there are.
const present = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if redis.call('TYPE', KEYS[1]).ok ~= 'zset' then redis.call('DEL', KEYS[1]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[1], now + 2 * ARGV[2], '+inf')
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])`

// absent: KEYS nodes; ARGV node.
const absent = `
if redis.call('TYPE', KEYS[1]).ok == 'zset' then redis.call('ZREM', KEYS[1], ARGV[1]) end
return 0`

// reporting: KEYS reporters, nodes; ARGV most. Returns the reporters that are present, so
// that a process that crashed and restarted as another node does not count twice.
const reporting = `
local all = {}
for _, node in ipairs(redis.call('ZRANGE', KEYS[1], 0, ARGV[1])) do
  if redis.call('ZSCORE', KEYS[2], node) then all[#all + 1] = node end
end
return all`

// publish: KEYS open, reporters; ARGV hint, ms, node, channel.
const publish = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if redis.call('TYPE', KEYS[2]).ok ~= 'zset' then redis.call('DEL', KEYS[2]) end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[2], math.max(redis.call('PTTL', KEYS[2]), tonumber(ARGV[2])))
redis.call('PUBLISH', ARGV[4], ARGV[1])
return 0`

// withdraw: KEYS open, reporters, probe; ARGV hint, node, channel.
const withdraw = `
redis.call('DEL', KEYS[1])
if redis.call('TYPE', KEYS[2]).ok == 'zset' then redis.call('ZREM', KEYS[2], ARGV[2]) end
if redis.call('TYPE', KEYS[3]).ok == 'string' and redis.call('GETRANGE', KEYS[3], 0, #ARGV[2]) == ARGV[2] .. ' ' then
  redis.call('DEL', KEYS[3])
end
redis.call('PUBLISH', ARGV[3], ARGV[1])
return 0`

// lease: KEYS probe; ARGV node, ms, channel, hint, most. A lease is a node, a space and its
// hint. Returns how long another node has the lease, 0 if it is this node, and the current
// value. A value that does not expire is not a lease.
const lease = `
local mine = ARGV[1] .. ' ' .. ARGV[4]
if not redis.call('SET', KEYS[1], mine, 'NX', 'PX', ARGV[2]) then
  local left = redis.call('PTTL', KEYS[1])
  if left > 0 and left <= tonumber(ARGV[2]) and redis.call('TYPE', KEYS[1]).ok == 'string' then
    return {left, redis.call('GETRANGE', KEYS[1], 0, ARGV[5])}
  end
  redis.call('SET', KEYS[1], mine, 'PX', ARGV[2])
end
redis.call('PUBLISH', ARGV[3], ARGV[4])
return {0, ''}`

// keep: KEYS hold; ARGV hint, ms, channel, longest. A hold is never shortened. A value that
// does not begin like a hold is not a hold.
const keep = `
local left, head = redis.call('PTTL', KEYS[1]), string.sub(ARGV[1], 1, 20)
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or redis.call('GETRANGE', KEYS[1], 0, 19) ~= head or left < tonumber(ARGV[2]) or left > tonumber(ARGV[4]) then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
redis.call('PUBLISH', ARGV[3], ARGV[1])
return 0`

// server is a hub in Redis.
type server struct {
	rdb    redis.UniversalClient
	prefix string
}

// openServer returns a hub that dials on first use. ctx limits every dial.
func openServer(ctx context.Context, s Settings) *server {
	o := s.Redis // a copy
	if o.DialTimeout <= 0 || o.DialTimeout > maxDial {
		o.DialTimeout = maxDial
	}
	o.Dialer = quietDialer(ctx, o)
	guardLogin(&o)
	o.TLSConfig = nil // the dialer does it
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = s.Timeout, s.Timeout, s.Timeout
	o.PoolSize = 2
	o.PipelinePoolSize = -1
	o.DialerRetries = 1
	o.DisableIdentity = true
	o.Protocol = 2 // no push messages, one round trip less for a connection
	return &server{rdb: redis.NewUniversalClient(&o), prefix: s.Prefix}
}

func (r *server) close() error { return r.rdb.Close() }

func (r *server) key(parts ...string) string {
	key := r.prefix
	for i, p := range parts {
		if i > 0 {
			key += ":"
		}
		key += p
	}
	return key
}

func (r *server) channel() string { return r.prefix + "hints" }

// exchange implements [hub].
func (r *server) exchange(ctx context.Context, orders []order) ([]reply, error) {
	cmds := make([]func() reply, len(orders))
	_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, o := range orders {
			cmds[i] = r.issue(ctx, p, o)
		}
		return nil
	})
	var said redis.Error
	if err != nil && !errors.As(err, &said) {
		return nil, err
	}
	replies := make([]reply, len(orders))
	for i, cmd := range cmds {
		replies[i] = cmd()
	}
	return replies, nil
}

// issue puts an order into a pipeline and returns how its reply is read.
func (r *server) issue(ctx context.Context, p redis.Pipeliner, o order) func() reply {
	h := o.hint
	ms := milliseconds(h.lasts)
	open, reporters := r.key("open", h.server, h.node), r.key("reporters", h.server)
	switch o.kind {
	case orderPresent:
		cmd := p.Eval(ctx, present, []string{r.key("nodes")}, h.node, presenceLasts.Milliseconds())
		return func() reply {
			n, err := cmd.Int()
			return reply{count: n, err: err}
		}
	case orderOpen:
		return done(p.Eval(ctx, publish, []string{open, reporters}, o.raw, ms, h.node, r.channel()))
	case orderAbsent:
		return done(p.Eval(ctx, absent, []string{r.key("nodes")}, h.node))
	case orderClosed, orderLeave:
		return done(p.Eval(ctx, withdraw, []string{open, reporters, r.key("probe", h.server)}, o.raw, h.node, r.channel()))
	case orderLease:
		return leased(p.Eval(ctx, lease, []string{r.key("probe", h.server)}, h.node, ms, r.channel(), o.raw, maxName+1+maxHintBytes))
	case orderHold:
		return done(p.Eval(ctx, keep, []string{r.key("hold", h.server, h.cred)}, o.raw, ms, r.channel(), maxHint.Milliseconds()))
	case orderReporters:
		cmd := p.Eval(ctx, reporting, []string{reporters, r.key("nodes")}, maxReporters-1)
		return func() reply {
			nodes, err := cmd.StringSlice()
			return reply{nodes: nodes, err: err}
		}
	case orderReport:
		return stored(ctx, p, open, maxHintBytes)
	case orderHeld:
		return stored(ctx, p, r.key("hold", h.server, h.cred), maxHintBytes)
	default:
	}
	return r.issueList(ctx, p, o)
}

// issueList is issue for lists of tools.
func (r *server) issueList(ctx context.Context, p redis.Pipeliner, o order) func() reply {
	key := r.key("tools", o.key)
	switch o.kind {
	case orderLoad:
		return stored(ctx, p, key, maxShared)
	case orderSave:
		cmd := p.Set(ctx, key, o.raw, o.hint.lasts)
		return func() reply { return reply{err: cmd.Err()} }
	default:
		cmd := p.Del(ctx, key)
		return func() reply { return reply{err: cmd.Err()} }
	}
}

// stored requests the value of a key, up to one byte more than most, and its time to live.
// It does not use GET, because the value may be a gigabyte of another program.
func stored(ctx context.Context, p redis.Pipeliner, key string, most int64) func() reply {
	raw, left := p.GetRange(ctx, key, 0, most), p.PTTL(ctx, key)
	return func() reply {
		return reply{raw: raw.Val(), left: left.Val(), err: errors.Join(raw.Err(), left.Err())}
	}
}

// done reads the reply of a script that returns milliseconds.
func done(cmd *redis.Cmd) func() reply {
	return func() reply {
		ms, err := cmd.Int64()
		return reply{left: duration(ms), err: err}
	}
}

// leased reads the reply of the script for leases.
func leased(cmd *redis.Cmd) func() reply {
	return func() reply {
		all, err := cmd.Slice()
		if err != nil {
			return reply{err: err}
		}
		if len(all) == 2 {
			ms, isNumber := all[0].(int64)
			raw, isText := all[1].(string)
			if isNumber && isText {
				return reply{left: duration(ms), raw: raw}
			}
		}
		return reply{err: errHint}
	}
}

// listen implements [hub]. It sends a liveness probe on an idle connection.
func (r *server) listen(ctx context.Context, joined func(), message func(string)) error {
	ps := r.rdb.Subscribe(ctx)
	defer ps.Close() //nolint:errcheck // nothing is lost with it
	// Receiving ignores ctx.
	stop := context.AfterFunc(ctx, func() { _ = ps.Close() })
	defer stop()
	if err := ps.Subscribe(ctx, r.channel()); err != nil {
		return err
	}
	for asked := false; ; {
		wait := quietLasts
		if asked {
			wait = pongTimeout
		}
		got, err := ps.ReceiveTimeout(ctx, wait)
		var slow net.Error
		switch {
		case err == nil:
			asked = false
		case !asked && errors.As(err, &slow) && slow.Timeout():
			if err := ps.Ping(ctx); err != nil {
				return err
			}
			asked = true
			continue
		default:
			return err
		}
		switch m := got.(type) {
		case *redis.Subscription:
			joined()
		case *redis.Message:
			message(m.Payload)
		}
	}
}

const (
	// quietLasts is the idle time after which a subscription is probed. pongTimeout is the
	// timeout of the probe.
	quietLasts  = 10 * time.Second
	pongTimeout = 2 * time.Second
)
