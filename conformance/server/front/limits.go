package front

import (
	"net/http"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// limited writes what a rate limit said into the headers of the answer. The status stays
// that of a JSON-RPC answer.
func limited(header http.Header, q *family.Quota) {
	if q == nil || q.Limit == 0 {
		return
	}
	header.Set("X-RateLimit-Limit", strconv.Itoa(q.Limit))
	header.Set("X-RateLimit-Remaining", strconv.Itoa(q.Remaining))
	header.Set("X-RateLimit-Reset", strconv.FormatInt(q.Reset.Unix(), 10))
	if q.Refused {
		// Whole seconds, and never too early.
		header.Set("Retry-After", strconv.FormatInt(int64((q.RetryAfter+time.Second-1)/time.Second), 10))
	}
}
