package mcperrors

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Bounds of the text, in runes: it is one line in a log. maxShownText is how
// many bytes of a peer's text are read for that, out of up to 16 MiB.
const (
	maxMessageText = 500
	maxCauseText   = 300
	maxStderrText  = 200
	maxBodyText    = 120
	maxShownText   = 8 << 10
)

// text returns what happened, where, a short form of the evidence, and what to do. It
// removes secrets and makes the texts of peers printable.
func (e *Error) text() string {
	var b strings.Builder
	message := show(e.Message, maxMessageText)
	if message == "" {
		message = e.Kind.String() + " error"
	}
	b.WriteString(message)
	if e.RPC != nil {
		fmt.Fprintf(&b, " (code %d)", e.RPC.Code)
	}
	if e.Cause != nil && !isTimeout(e.Cause) {
		if cause := show(e.Cause.Error(), maxCauseText); cause != "" && !strings.Contains(message, cause) {
			b.WriteString(": " + cause)
		}
	}
	e.writePlace(&b)
	if e.HTTP != nil {
		fmt.Fprintf(&b, "; http status %d", e.HTTP.Status)
		if e.HTTP.URL != "" {
			b.WriteString(" from " + show(e.HTTP.URL, maxStderrText))
		}
		if e.HTTP.ContentType != "" && e.RPC == nil {
			b.WriteString(" (" + show(e.HTTP.ContentType, 60) + ")")
		}
		if e.RPC == nil && e.HTTP.Status >= 400 && readable(e.HTTP.ContentType) {
			if body := show(e.HTTP.Body, maxBodyText); body != "" && !strings.Contains(message, body) {
				b.WriteString(": " + body)
			}
		}
	}
	e.Process.write(&b)
	if e.Attempts > 1 {
		fmt.Fprintf(&b, "; %d attempts", e.Attempts)
	}
	if next := e.next(); next != "" {
		b.WriteString("; " + next)
	}
	return b.String()
}

// isTimeout reports whether a cause is a timeout. It adds nothing to the message, which
// names the time.
func isTimeout(cause error) bool {
	text := cause.Error()
	return text == jsonrpc.ErrIdle.Error() || text == jsonrpc.ErrMaxWait.Error()
}

// readable reports whether people can read a body of this type.
func readable(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "" || kind == "text/plain" || kind == "application/json" || kind == "application/problem+json"
}

func (e *Error) writePlace(b *strings.Builder) {
	var place []string
	if e.Tool != "" {
		place = append(place, "tool "+show(e.Tool, 80))
	} else if e.Method != "" {
		place = append(place, "method "+show(e.Method, 80))
	}
	if e.Server != "" {
		place = append(place, "server "+show(e.Server, 80))
	}
	if len(place) > 0 {
		b.WriteString(" (" + strings.Join(place, ", ") + ")")
	}
}

func (p *ProcessEvidence) write(b *strings.Builder) {
	if p == nil {
		return
	}
	switch {
	case !p.Exited:
	case p.Signal != "":
		fmt.Fprintf(b, "; the server was killed (%s)", show(p.Signal, 20))
	default:
		fmt.Fprintf(b, "; the server exited with status %d", p.Exit)
	}
	if p.Exited && p.Age > 0 {
		fmt.Fprintf(b, " after %s", roundAge(p.Age))
	}
	if p.Noise != "" {
		b.WriteString("; stdout: " + show(p.Noise, maxStderrText))
	}
	if reason := p.Reason(3); len(reason) > 0 {
		b.WriteString("; stderr: " + show(strings.Join(reason, " | "), maxStderrText))
	}
}

// executes reports whether a method has effects. If the answer to another method is
// lost, there is nothing to check.
func executes(method string) bool {
	switch method {
	case "initialize", "ping", "server/discover", "prompts/get", "completion/complete", "tasks/get", "tasks/result":
		return false
	}
	return !strings.HasSuffix(method, "/list") && !strings.HasSuffix(method, "/read")
}

// next returns what to do, or "" if that is unknown.
func (e *Error) next() string {
	var next []string
	if e.Delivery == Unknown && e.Kind != KindCanceled && executes(e.Method) {
		next = append(next, "the call may have run: check before repeating it")
	}
	if e.RetryAfter > 0 {
		next = append(next, "try again in "+roundAge(e.RetryAfter).String())
	}
	return strings.Join(next, "; ")
}

func roundAge(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// show makes a text fit for a log line: without secrets and control characters, and
// limited in length.
func show(s string, limit int) string {
	start := head(s, maxShownText)
	shown := Redact(start)
	if len(start) < len(s) {
		shown += "…"
	}
	return jsonrpc.Printable(shown, limit)
}

// head returns the start of s, at most n bytes. It removes part of a word at the cut if
// that is too short to be recognized as a token. It removes part of a URL, whose secrets
// are recognized by the text after them.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for !utf8.RuneStart(s[n]) && n > 0 {
		n--
	}
	end := n
	for end > 0 && inWord(s[end-1]) {
		end--
	}
	if n-end >= minToken {
		end = n // long enough to recognize a token
	}
	s = s[:end]
	last := strings.LastIndexFunc(s, endsURL) + 1
	if i := strings.Index(s[last:], "://"); i >= 0 {
		s = s[:last+i+len("://")]
	}
	return s
}
