package wire

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// HTTPAnswer has the status and headers of an HTTP response; nil on stdio.
type HTTPAnswer struct {
	Status int
	Header http.Header
	// Body is the whole body if it was read at once.
	Body []byte
	// Token identifies the messages of this response.
	Token string
}

// Describe describes the response in one line.
func (a *HTTPAnswer) Describe(err error) string {
	if err != nil {
		return err.Error()
	}
	out := fmt.Sprintf("%d %s", a.Status, a.Header.Get("Content-Type"))
	if len(a.Body) > 0 {
		out += ": " + rawjson.Clip(string(a.Body), 120)
	}
	return strings.TrimSpace(out)
}

// Is reports whether the response has one of the statuses.
func (a *HTTPAnswer) Is(err error, statuses ...int) bool {
	if err != nil {
		return false
	}
	for _, s := range statuses {
		if a.Status == s {
			return true
		}
	}
	return false
}

// Served reports whether a request was answered with a response.
func (a *HTTPAnswer) Served(err error) bool {
	return a.Is(err, http.StatusOK) && Received(a.Body, nil).IsResponse()
}

// IsAnswerType reports whether a media type is one that answers a request.
func IsAnswerType(contentType string) bool {
	media := MediaType(http.Header{"Content-Type": {contentType}})
	return media == MediaJSON || media == MediaStream
}
