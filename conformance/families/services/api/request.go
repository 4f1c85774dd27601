package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

const (
	// maxBody holds a batch of 100 tasks with forty inputs each.
	maxBody = 4 << 20
	// maxTaskID bounds the correlation id (tools.md §2.1), maxKey the
	// Idempotency-Key, maxProject a project (the columns of S0).
	maxTaskID  = 128
	maxKey     = 255
	maxProject = 100
	// maxEcho bounds what an answer repeats of a request.
	maxEcho = 64
)

// A Request is one call of an endpoint.
type Request struct {
	HTTP *http.Request
	// TaskID is the correlation id of the caller, which all log lines carry:
	// the X-Task-Id, decoded.
	TaskID string

	log   *slog.Logger
	w     http.ResponseWriter
	begin time.Time
}

func newRequest(w http.ResponseWriter, r *http.Request, log *slog.Logger) *Request {
	req := &Request{HTTP: r, w: w, begin: time.Now()}
	sent := r.Header.Get("X-Task-Id")
	// Percent-encoded, because it may be any text and a header may not.
	id, err := url.PathUnescape(sent)
	if err != nil {
		id = sent
	}
	if printable(id, maxTaskID) {
		req.TaskID = id
		w.Header().Set("X-Task-Id", sent)
	}
	req.log = log.With(slog.String("task_id", req.TaskID))
	return req
}

// Took is how long the request has taken, for the log.
func (r *Request) Took() slog.Attr {
	return slog.Float64("duration_ms", float64(time.Since(r.begin).Microseconds())/1000)
}

// Log writes a line about what the request did.
func (r *Request) Log(ctx context.Context, event string, attrs ...slog.Attr) {
	r.log.LogAttrs(ctx, slog.LevelInfo, event, append(attrs, r.Took())...)
}

// Query returns a query parameter, or "".
func (r *Request) Query(name string) string { return r.HTTP.URL.Query().Get(name) }

// Project returns the required project of a query. Both services take both
// names (C-49).
func (r *Request) Project() (string, error) {
	return Project("project", r.Query("project"), r.Query("project_id"))
}

// Project returns the project of a request that gives it under one or two
// names. name is the one a message about its absence uses.
func Project(name, first, second string) (string, error) {
	project := first
	if project == "" {
		project = second
	}
	switch {
	case project == "":
		return "", Bad("Missing required parameter: %s", name)
	case second != "" && second != project:
		return "", Bad("Invalid %s: project and project_id differ", name)
	case !printable(project, maxProject):
		return "", Bad("Invalid %s: must be 1 to %d printable characters", name, maxProject)
	}
	return project, nil
}

// Body decodes the body, which must be one JSON object, into v. names says
// what to answer when a member has the wrong type, by its name.
func (r *Request) Body(v any, names map[string]string) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(r.w, r.HTTP.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, &Error{Status: http.StatusRequestEntityTooLarge, Detail: "Request body is too large"}
	}
	if err != nil {
		return nil, &Error{Status: http.StatusBadRequest, Detail: "Request body could not be read", Err: err}
	}
	if !utf8.Valid(body) || !strings.HasPrefix(strings.TrimLeft(string(body), " \t\r\n"), "{") {
		return nil, Bad("Malformed JSON: the body must be an object")
	}
	err = json.Unmarshal(body, v)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		if text, ok := names[wrong.Field]; ok {
			return nil, Bad("%s", text)
		}
		return nil, Bad("Invalid %s: wrong type %s", clip(wrong.Field), wrong.Value)
	case err != nil:
		return nil, Bad("Malformed JSON: %s", clip(err.Error()))
	}
	return body, nil
}

// Key returns the Idempotency-Key of the request whose body was read.
func (r *Request) Key(body []byte) (store.Key, error) {
	value := r.HTTP.Header.Get("Idempotency-Key")
	if value == "" {
		return store.Key{}, nil
	}
	if !printable(value, maxKey) {
		return store.Key{}, Bad("Invalid Idempotency-Key: must be 1 to %d printable characters", maxKey)
	}
	sum := sha256.Sum256(body)
	return store.Key{Value: value, Fingerprint: hex.EncodeToString(sum[:])}, nil
}

// Time is how instants stand in answers: UTC with milliseconds.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// printable reports whether text is 1 to most characters, none of them a
// control character: fit for a log line, a column and an answer.
func printable(text string, most int) bool {
	n := utf8.RuneCountInString(text)
	return n >= 1 && n <= most && utf8.ValidString(text) && strings.IndexFunc(text, unicode.IsControl) < 0
}

// Clip returns text as an answer may repeat it.
func Clip(text string) string { return clip(text) }

func clip(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if runes := []rune(text); len(runes) > maxEcho {
		return string(runes[:maxEcho]) + "…"
	}
	return text
}

// digest makes keys of equal length, so that comparing them takes equal time.
func digest(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

func sameDigest(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }
