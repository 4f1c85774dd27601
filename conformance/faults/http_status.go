package faults

import (
	"net/http"
	"strconv"
	"time"
)

// statusOf returns the answer of a fault that is a status. The request is forwarded only if
// the rule has Executed.
func statusOf(v *visit) statusReply {
	a := statusReply{header: http.Header{}}
	if status, err := strconv.Atoi(v.form); err == nil && status > 99 {
		a.status = status // the forms that are named after their status
	}
	switch v.Fault {
	case "A7":
		if v.form == "407" {
			a.header.Set("Proxy-Authenticate", `Basic realm="faults"`)
		}
	case "B9":
		a.status = http.StatusOK
		a.header.Set("Content-Type", "text/html; charset=utf-8")
		a.body = []byte("<!DOCTYPE html><html><body><h1>Log in</h1></body></html>\n")
	case "B10":
		a.header.Set("Content-Type", "application/json")
	case "B11":
		a.header.Set("Location", orText(v.Text, "/elsewhere"))
	case "B12":
		a.status = orInt(v.Status, http.StatusTemporaryRedirect)
		a.header.Set("Location", redirect(v))
	case "B13":
		a.status = http.StatusBadRequest
		if code, err := strconv.Atoi(v.form); err == nil {
			a.body = failure(v.req.ID, code, "refused by the faults proxy", map[string]string{
				"-32021": `{"requiredCapabilities":{"elicitation":{}}}`,
				"-32022": `{"supported":["1999-01-01"]}`,
			}[v.form])
		}
	case "B14":
		a.status = http.StatusUnauthorized
		a.header.Set("WWW-Authenticate", orText(v.Text, `Bearer error="invalid_token"`))
	case "B15":
		a.status = http.StatusForbidden
		a.header.Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+orText(v.Text, "tools:call")+`"`)
	case "B16":
		a.status = http.StatusNotFound
		a.body = failure(v.req.ID, -32601, "Method not found", "")
	case "B17":
		a.status = http.StatusNotFound
		a.body = failure(nil, -32001, "Session not found", "")
		v.proxy.kill(v.hit, v.r.Header.Get(sessionHeader))
	case "B19":
		if v.form == "405" {
			a.header.Set("Allow", "GET")
		}
	case "B21", "B22":
		a.status = http.StatusTooManyRequests
		retryAfter(v, a.header)
	case "B23":
		a.status = http.StatusInternalServerError
		if v.form == "-32603" {
			a.body = failure(v.req.ID, -32603, "Internal error", "")
		}
	case "B24":
		if a.status == 0 {
			a.status = http.StatusServiceUnavailable
			a.header.Set("Retry-After", wholeSeconds(v.For.or(120*time.Second)))
		}
	default: // B18 and B20 are their status
	}
	return a
}

// kill ends a session.
func (p *Proxy) kill(h *hit, session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.period.dead[session] = true
}

// redirect returns the target of B12.
func redirect(v *visit) string {
	switch v.form {
	case "cross-origin":
		return orText(v.Text, "https://other.invalid") + v.r.URL.Path
	case "downgrade":
		return "http://" + v.r.Host + v.r.URL.RequestURI()
	case "same-origin":
		// Another URL, because a rule without Count would make a loop. The mark is removed
		// before the request is forwarded.
		to := *v.r.URL
		q := to.Query()
		q.Set(redirected, "1")
		to.RawQuery = q.Encode()
		return to.RequestURI()
	default:
		return v.r.URL.RequestURI()
	}
}

// redirected marks a request that has followed B12.
const redirected = "faults-redirected"

func retryAfter(v *visit, h http.Header) {
	after := v.For.or(7 * time.Second)
	value := map[string]string{
		"":         wholeSeconds(after),
		"none":     "",
		"date":     time.Now().Add(after).UTC().Format(http.TimeFormat),
		"negative": "-5",
		"huge":     "1000000000",
		"text":     "soon",
	}[v.form]
	if value != "" {
		h.Set("Retry-After", value)
	}
}

// wholeSeconds rounds up, so that the client does not retry too early.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
