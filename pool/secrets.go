package pool

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
)

// secretsOf returns the secrets of a server: the values of variables, of its environment
// and of its headers.
func secretsOf(s *Server) []string {
	out := slices.Clone(s.secrets)
	headers := func(h http.Header) {
		for _, values := range h {
			for _, v := range values {
				out = append(out, v)
				if _, token, ok := strings.Cut(v, " "); ok { // Bearer x
					out = append(out, token)
				}
			}
		}
	}
	switch t := s.Transport.(type) {
	case *transport.Command:
		for _, kv := range t.Env {
			_, value, _ := strings.Cut(kv, "=")
			out = append(out, value)
		}
	case *transport.HTTP:
		headers(t.Header)
	case *transport.SSE:
		headers(t.Header)
	}
	// Short values are not secrets and occur everywhere. A secret may contain another.
	out = slices.DeleteFunc(out, func(v string) bool { return len(v) < 4 })
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(out)
}

// conceal removes the server's secrets from an error: a program may print its key before
// it exits, and a server may repeat a header.
func (m *member) conceal(err error) error {
	if err == nil || len(m.secrets) == 0 {
		return err
	}
	e := *errormap.From(err, mcperrors.Unknown)
	e.Message, e.UserMessage = m.hide(e.Message), m.hide(e.UserMessage)
	if e.Cause != nil {
		e.Cause = &concealed{text: m.hide(e.Cause.Error()), err: e.Cause}
	}
	if e.RPC != nil {
		rpc := *e.RPC
		rpc.Message, rpc.Data = m.hide(rpc.Message), []byte(m.hide(string(rpc.Data)))
		e.RPC = &rpc
	}
	if e.HTTP != nil {
		web := *e.HTTP
		web.URL, web.Body = m.hide(web.URL), m.hide(web.Body)
		e.HTTP = &web
	}
	if e.Process != nil {
		process := *e.Process
		process.Command, process.Stderr = m.hideAll(process.Command), m.hideAll(process.Stderr)
		e.Process = &process
	}
	return &e
}

func (m *member) hide(text string) string {
	for _, secret := range m.secrets {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	return text
}

func (m *member) hideAll(texts []string) []string {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i] = m.hide(texts[i])
	}
	return texts
}

// concealed is an error with another text. It matches what err matches.
type concealed struct {
	text string
	err  error
}

func (c *concealed) Error() string { return c.text }

// Is implements the matching of [errors.Is].
func (c *concealed) Is(target error) bool { return errors.Is(c.err, target) }

// As implements the matching of [errors.As].
func (c *concealed) As(target any) bool { return errors.As(c.err, target) }
