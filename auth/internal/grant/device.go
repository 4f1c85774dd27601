package grant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

// DeviceCodeGrant is the grant of a login on another device (RFC 8628 §3.4).
const DeviceCodeGrant = "urn:ietf:params:oauth:grant-type:device_code"

const (
	defaultInterval = 5 * time.Second        // RFC 8628 §3.2
	slowDown        = 5 * time.Second        // §3.5: what slow_down adds
	leastInterval   = 100 * time.Millisecond // also if a server names a shorter one
	mostInterval    = time.Minute            // of a server that does not answer
	longestUserCode = 64
)

// DeviceCode is a login that waits for a person on another device.
type DeviceCode struct {
	Code     string // secret: it is exchanged for the token once the person has agreed
	UserCode string // what the person types
	URL      string // the page to type it at
	Complete string // the page with the code in its URL, "" for none
	Expiry   time.Time
	Interval time.Duration // between two polls
}

// String describes the login without its secret.
func (d DeviceCode) String() string { return "a login at " + d.URL + " with the code " + d.UserCode }

// GoString is String, so that %#v shows no secret either.
func (d DeviceCode) GoString() string { return d.String() }

// Format writes String for every verb.
func (d DeviceCode) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(d.String())) }

// LogValue implements [slog.LogValuer] with String.
func (d DeviceCode) LogValue() slog.Value { return slog.StringValue(d.String()) }

// MarshalText writes String.
func (d DeviceCode) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Device starts a login on another device (RFC 8628 §3.1). A refusal is an *Error.
func (e *Endpoint) Device(ctx context.Context, c *Client, to string, params url.Values) (*DeviceCode, error) {
	plain := *e
	plain.Proof = nil // the token request carries the proof (RFC 9449)
	answer, sent, err := plain.post(ctx, c, to, copied(params))
	if err != nil {
		return nil, err
	}
	return parseDevice(to, answer, sent, func(page string) bool { return e.HTTP.Check(page) == nil }, time.Now())
}

// parseDevice reads the answer that starts a login on another device. reachable reports whether a
// person may be sent to a page.
func parseDevice(endpoint string, a *fetch.Answer, sent secrets, reachable func(page string) bool, now time.Time) (*DeviceCode, error) {
	m, err := granted(endpoint, a, sent)
	if err != nil {
		return nil, err
	}
	usable := func(page string) bool { return visible(page) && len(page) <= longestURI && reachable(page) }
	wrong := wrongAt(endpoint)
	d := &DeviceCode{
		Code:     m.text("device_code"),
		UserCode: m.text("user_code"),
		URL:      cmp.Or(m.text("verification_uri"), m.text("verification_url")), // Google's older name
		Complete: m.text("verification_uri_complete"),
		Expiry:   m.expiry(now),
		Interval: defaultInterval,
	}
	if n, ok := m.seconds("interval"); ok && n > 0 {
		d.Interval = max(leastInterval, time.Duration(min(n, longestLife.Seconds())*float64(time.Second)))
	}
	switch {
	case !visible(d.Code):
		return nil, wrong("it has no usable device_code")
	case d.UserCode == "" || printable(d.UserCode, longestUserCode) != d.UserCode:
		return nil, wrong("it has no usable user_code")
	case !usable(d.URL):
		return nil, wrong("it has no usable verification_uri")
	case !usable(d.Complete):
		d.Complete = ""
	}
	return d, nil
}

// DeviceToken polls for the token of a login on another device until the person has agreed or
// refused. If ctx ends first, the error has the cause of ctx and the last failure.
func (e *Endpoint) DeviceToken(ctx context.Context, c *Client, d *DeviceCode, params url.Values) (*Token, error) {
	form := copied(params)
	form.Set("device_code", d.Code)
	timer := time.NewTimer(d.Interval)
	defer timer.Stop()
	pause := d.Interval
	var failed error
	for {
		select {
		case <-timer.C:
			if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
				<-ctx.Done() // at the same moment: a code that has expired is not sent
				return nil, waited(ctx, failed)
			}
		case <-ctx.Done():
			return nil, waited(ctx, failed)
		}
		token, err := e.Exchange(ctx, c, DeviceCodeGrant, form)
		if err == nil {
			return token, nil
		}
		if ctx.Err() != nil {
			return nil, waited(ctx, failed)
		}
		var again bool
		if pause, again = nextPause(pause, err); !again {
			return nil, err
		}
		if failed = err; waits(err) {
			failed = nil
		}
		timer.Reset(pause)
	}
}

// waited returns the error for a wait that ctx ended.
func waited(ctx context.Context, failed error) error {
	if failed == nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), failed)
}

// waits reports whether an error means that the person has not agreed yet.
func waits(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && (refused.Code == "authorization_pending" || refused.Code == "slow_down")
}

// nextPause returns how long to wait after an error, and whether to poll again (RFC 8628 §3.5).
func nextPause(pause time.Duration, err error) (next time.Duration, again bool) {
	slower := max(pause, min(2*pause, mostInterval))
	var refused *Error
	var lost *fetch.Error
	switch {
	case errors.As(err, &refused) && refused.Code == "authorization_pending":
		return pause, true
	case errors.As(err, &refused) && refused.Code == "slow_down":
		return pause + slowDown, true
	case errors.As(err, &refused) && (refused.Status >= 500 || refused.Status == http.StatusTooManyRequests), errors.As(err, &lost):
		return slower, true
	}
	return pause, false
}
