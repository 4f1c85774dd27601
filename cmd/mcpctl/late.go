package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// explainTimeout says which of the times passed, and who was waited for.
func (a *app) explainTimeout(f *failure, e *mcperrors.Error, where *failed) {
	name, was := "timeout", a.flags.idle
	var dial *net.OpError
	switch {
	case errors.As(e, &dial) && dial.Op == "dial":
		name, was = "connect-timeout", a.flags.connectTimeout
	case where.connecting && where.server.argv != nil && a.flags.startTimeout < a.flags.maxTime &&
		(errors.Is(e.Cause, jsonrpc.ErrIdle) || errors.Is(e.Cause, jsonrpc.ErrMaxWait)):
		name, was = "start-timeout", a.flags.startTimeout
	case errors.Is(e.Cause, jsonrpc.ErrMaxWait), errors.Is(e.Cause, context.DeadlineExceeded):
		name, was = "max-time", a.flags.maxTime
		if !where.connecting {
			f.message = "no answer within " + plain(was) + ", the time of the whole run"
		}
	}
	if where.server.url != "" && !f.has("url") {
		f.add("url", "%s", withoutSecrets(where.server.url))
	}
	f.try = append(f.try, "--"+name+" "+plain(max(5*time.Minute, 2*was))+" waits longer")
}

func (f *failure) has(label string) bool {
	for _, e := range f.evidence {
		if e.label == label {
			return true
		}
	}
	return false
}

// plain writes a duration as people type it: 5m, not 5m0s.
func plain(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
