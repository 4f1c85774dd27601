package grant

import (
	"encoding/json"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

// members are the members of a JSON object by exact name. Package json would ignore the case.
type members map[string]json.RawMessage

// readMembers reads an answer as a JSON object or, for some older servers, as a form.
func readMembers(a *fetch.Answer) (members, bool) {
	var m members
	if json.Unmarshal(a.Body, &m) == nil {
		return m, m != nil
	}
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if kind != "application/x-www-form-urlencoded" && kind != "text/plain" {
		return nil, false
	}
	form, err := url.ParseQuery(strings.TrimSpace(string(a.Body)))
	if err != nil || !form.Has("access_token") && !form.Has("error") {
		return nil, false
	}
	m = members{}
	for name := range form {
		text, err := json.Marshal(form.Get(name))
		if err != nil {
			return nil, false
		}
		m[name] = text
	}
	return m, true
}

// text returns a member that is a string, else "".
func (m members) text(name string) string {
	var s string
	if json.Unmarshal(m[name], &s) != nil {
		return ""
	}
	return s
}

// words returns the words of a member: a space-separated string or, for some servers, an array of
// strings. It omits words that cannot be a scope.
func (m members) words(name string) string {
	text := m.text(name)
	var list []string
	if json.Unmarshal(m[name], &list) == nil {
		text = strings.Join(list, " ")
	}
	return strings.Join(slices.DeleteFunc(strings.Fields(text), func(word string) bool { return !visible(word) }), " ")
}

// seconds returns a member that is a number or, for some servers, a number in a string.
func (m members) seconds(name string) (float64, bool) {
	text := []byte(m.text(name))
	if len(text) == 0 {
		text = m[name]
	}
	var n float64
	if string(text) == "null" || json.Unmarshal(text, &n) != nil {
		return 0, false
	}
	return n, true
}

// latest is the latest time that moment accepts: the end of the year 9999, as in RFC 3339.
const latest = 253402300799

// moment returns a member that is a time in seconds since 1970. It is zero for none and for 0.
func (m members) moment(name string) time.Time {
	n, ok := m.seconds(name)
	if !ok || n <= 0 || n > latest {
		return time.Time{}
	}
	return time.Unix(int64(n), 0)
}

// expiry returns the time at which expires_in ends, zero if there is none.
func (m members) expiry(now time.Time) time.Time {
	n, ok := m.seconds("expires_in")
	if !ok || n <= 0 {
		return time.Time{}
	}
	// Use the wall clock, because the monotonic clock stops while a machine sleeps.
	return now.Add(time.Duration(min(n, longestLife.Seconds()) * float64(time.Second))).Round(0)
}
