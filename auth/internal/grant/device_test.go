package grant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

func TestDeviceCodes(t *testing.T) {
	const most = `"device_code":"D","user_code":"AB-12","verification_uri":"https://as.example/device"`
	for name, row := range map[string]struct {
		body string
		want DeviceCode // Expiry is not compared
		err  string
	}{
		"all": {
			body: `{` + most + `,"verification_uri_complete":"https://as.example/device?c=AB-12","expires_in":600,"interval":10}`,
			want: DeviceCode{Code: "D", UserCode: "AB-12", URL: "https://as.example/device", Complete: "https://as.example/device?c=AB-12", Interval: 10 * time.Second},
		},
		"least":        {body: `{` + most + `}`, want: DeviceCode{Code: "D", UserCode: "AB-12", URL: "https://as.example/device", Interval: 5 * time.Second}},
		"no interval":  {body: `{` + most + `,"interval":0}`, want: DeviceCode{Code: "D", UserCode: "AB-12", URL: "https://as.example/device", Interval: 5 * time.Second}},
		"an eager one": {body: `{` + most + `,"interval":1e-9}`, want: DeviceCode{Code: "D", UserCode: "AB-12", URL: "https://as.example/device", Interval: leastInterval}},
		"a huge one":   {body: `{` + most + `,"interval":1e300}`, want: DeviceCode{Code: "D", UserCode: "AB-12", URL: "https://as.example/device", Interval: longestLife}},
		"Google's": {
			body: `{"device_code":"D","user_code":"AB","verification_url":"https://www.google.com/device"}`,
			want: DeviceCode{Code: "D", UserCode: "AB", URL: "https://www.google.com/device", Interval: 5 * time.Second},
		},
		"a complete page that may not be shown": {
			body: `{` + most + `,"verification_uri_complete":"javascript:alert(1)"}`,
			want: DeviceCode{Code: "D", UserCode: "AB-12", URL: "https://as.example/device", Interval: 5 * time.Second},
		},
		"no device code":         {body: `{"user_code":"A","verification_uri":"https://as.example/"}`, err: "no usable device_code"},
		"no user code":           {body: `{"device_code":"D","verification_uri":"https://as.example/"}`, err: "no usable user_code"},
		"a user code of a rogue": {body: `{"device_code":"D","user_code":"\u001b[2J","verification_uri":"https://as.example/"}`, err: "no usable user_code"},
		"a long user code":       {body: `{"device_code":"D","user_code":"` + strings.Repeat("a", 65) + `","verification_uri":"https://as.example/"}`, err: "no usable user_code"},
		"no page":                {body: `{"device_code":"D","user_code":"A"}`, err: "no usable verification_uri"},
		"a page without TLS":     {body: `{"device_code":"D","user_code":"A","verification_uri":"http://as.example/"}`, err: "no usable verification_uri"},
		"a private page":         {body: `{"device_code":"D","user_code":"A","verification_uri":"https://10.0.0.1/"}`, err: "no usable verification_uri"},
		"a script":               {body: `{"device_code":"D","user_code":"A","verification_uri":"javascript:alert(1)"}`, err: "no usable verification_uri"},
		"a refusal":              {body: `{"error":"unauthorized_client"}`, err: "unauthorized_client"},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, answer{status: 200, body: row.body})
			e := s.endpoint()
			e.Proof = mustProver(t)
			got, err := e.Device(t.Context(), &Client{ID: "id"}, s.url, url.Values{"scope": {"a"}})
			require.Equal(t, url.Values{"scope": {"a"}, "client_id": {"id"}}, s.requests[0].form)
			require.Empty(t, s.requests[0].header.Get("DPoP"))
			if row.err != "" {
				require.ErrorContains(t, err, row.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, name == "all", !got.Expiry.IsZero())
			got.Expiry = time.Time{}
			require.Equal(t, row.want, *got)
			require.NotContains(t, fmt.Sprintf("%v %+v %#v %s %q %x", got, *got, got, got, got, got), `"D"`)
		})
	}
}

// pipes is a server in memory, for tests on a virtual clock.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.done); return nil }

func (*pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inMemory serves h, which is called with the time since now.
func inMemory(t *testing.T, h func(after time.Duration, rw http.ResponseWriter)) *Endpoint {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	began := time.Now()
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		rw.Header().Set("Content-Type", "application/json")
		h(time.Since(began), rw)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(p) })
	client := fetch.New(fetch.Options{Transport: &http.Transport{DialContext: p.dial}, AllowLoopback: true})
	t.Cleanup(func() {
		client.CloseIdle()
		require.NoError(t, server.Close())
		serving.Wait()
	})
	return &Endpoint{HTTP: client, TokenURL: "http://127.0.0.1/token", Issuer: "http://127.0.0.1"}
}

func TestDeviceToken(t *testing.T) {
	t.Parallel()
	const (
		pending = `400 {"error":"authorization_pending"}`
		slow    = `400 {"error":"slow_down"}`
		down    = `503 `
		granted = `200 ` + bearer
	)
	expired, gone := errors.New("the code is too old"), errors.New("the caller is gone")
	for name, row := range map[string]struct {
		answers []string // the last again
		cancel  time.Duration
		asked   []int // seconds at which the server is asked
		err     string
	}{
		"the person agrees":                    {answers: []string{pending, pending, granted}, asked: []int{5, 10, 15}},
		"the server is busy":                   {answers: []string{slow, pending, slow, granted}, asked: []int{5, 15, 25, 40}},
		"the server is down":                   {answers: []string{down, down, pending, granted}, asked: []int{5, 15, 35, 55}},
		"answers are lost":                     {answers: []string{"lost", granted}, asked: []int{5, 15}},
		"too many requests":                    {answers: []string{`429 `, granted}, asked: []int{5, 15}},
		"the person refuses":                   {answers: []string{pending, `400 {"error":"access_denied"}`}, asked: []int{5, 10}, err: "access_denied"},
		"the server says expired":              {answers: []string{`400 {"error":"expired_token"}`}, asked: []int{5}, err: "expired_token"},
		"a wrong token":                        {answers: []string{`200 {"access_token":"A","token_type":"mac"}`}, asked: []int{5}, err: "one that no client of MCP can use"},
		"nobody comes":                         {answers: []string{pending}, asked: []int{5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55}, err: "the code is too old"},
		"nobody comes, and the server is down": {answers: []string{pending, down}, asked: []int{5, 10, 20, 40}, err: "the code is too old: http://127.0.0.1/token refused: HTTP status 503"},
		"the caller leaves":                    {answers: []string{pending}, cancel: 7 * time.Second, asked: []int{5}, err: "the caller is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var asked []int
				e := inMemory(t, func(after time.Duration, rw http.ResponseWriter) {
					text := row.answers[min(len(asked), len(row.answers)-1)]
					asked = append(asked, int(after.Seconds()))
					if text == "lost" {
						panic(http.ErrAbortHandler)
					}
					status, body, _ := strings.Cut(text, " ")
					rw.WriteHeader(map[string]int{"200": 200, "400": 400, "429": 429, "503": 503}[status])
					_, _ = io.WriteString(rw, body)
				})
				ctx, stop := context.WithTimeoutCause(t.Context(), 59*time.Second, expired)
				defer stop()
				ctx, leave := context.WithCancelCause(ctx)
				defer leave(nil)
				if row.cancel > 0 {
					defer time.AfterFunc(row.cancel, func() { leave(gone) }).Stop()
				}
				d := &DeviceCode{Code: "PLANTED-DEVICE-CODE", Interval: 5 * time.Second}
				began := time.Now()
				token, err := e.DeviceToken(ctx, &Client{ID: "id"}, d, url.Values{"resource": {"https://a/1"}})
				require.Equal(t, row.asked, asked)
				if row.err == "" {
					require.NoError(t, err)
					require.Equal(t, "AT", token.Access.Text())
					return
				}
				require.ErrorContains(t, err, row.err)
				require.NotContains(t, err.Error(), "PLANTED")
				require.NotContains(t, err.Error(), "\n")
				if row.cancel > 0 {
					require.Equal(t, row.cancel, time.Since(began), "it ends at once")
				}
			})
		})
	}
}
