package faults

import (
	"context"
	"net"
	"os"
	"syscall"
	"time"
)

// Dial returns a dialer that makes the faults of the carrier [Dial] and otherwise calls
// next; a nil next is a net.Dialer. The errors have the types that package net returns.
// Selectors count dials.
func (p *Proxy) Dial(next func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	if next == nil {
		next = (&net.Dialer{}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if h := p.match(event{carrier: Dial, point: atConn}); h != nil {
			if err := h.dial(ctx, address); err != nil {
				return nil, &net.OpError{Op: "dial", Net: network, Err: err}
			}
		}
		return next(ctx, network, address)
	}
}

// dial returns the error of the dial, nil if it goes on.
func (h *hit) dial(ctx context.Context, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	switch h.Fault {
	case "A1":
		return h.resolve(ctx, host)
	case "A2", "A9":
		return os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case "A3":
		if !h.hold(ctx, time.Duration(h.For)) {
			return ctx.Err()
		}
	case "A4":
		if !pause(ctx, h.For.or(300*time.Millisecond)) {
			return ctx.Err()
		}
	case "A8":
		if h.form == "eaddrnotavail" {
			return os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)
		}
		return os.NewSyscallError("socket", syscall.EMFILE)
	default:
	}
	return nil
}

func (h *hit) resolve(ctx context.Context, host string) error {
	switch h.form {
	case "servfail":
		return &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
	case "timeout":
		if !pause(ctx, h.For.or(5*time.Second)) {
			return ctx.Err()
		}
		return &net.DNSError{Err: "i/o timeout", Name: host, IsTimeout: true}
	default:
		return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
}
