package assistant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/agent"
	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/marker"
	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/registry"
)

const (
	maxRequest = 1 << 20
	maxMessage = 100_000
	// chatTimeout ends a run before its token ends on its own.
	chatTimeout = registry.TTL - 10*time.Second
)

// maxThreadID bounds the id of a thread, in characters.
const maxThreadID = 255

// Why a chat ends before its agent does, beside its time.
var (
	errDisconnected = errors.New("the client disconnected")
	errShutdown     = errors.New("the server is shutting down")
)

// isThreadID reports whether a text can be the id of a thread: any that can be one
// segment of a path and is not blank.
func isThreadID(id string) bool {
	unfit := func(r rune) bool { return r == '/' || unicode.IsControl(r) }
	return utf8.ValidString(id) && strings.TrimSpace(id) != "" && !strings.ContainsFunc(id, unfit) && utf8.RuneCountInString(id) <= maxThreadID
}

// chat answers a message with a stream of events.
func (s *service) chat(w http.ResponseWriter, r *http.Request) {
	thread := r.PathValue("thread_id")
	if !isThreadID(thread) {
		refuse(w, http.StatusBadRequest, "thread_id is malformed")
		return
	}
	req, status, err := readChat(w, r)
	if err != nil {
		refuse(w, status, err.Error())
		return
	}
	if !s.enter() {
		refuse(w, http.StatusServiceUnavailable, "the server is shutting down")
		return
	}
	defer s.chats.Done()
	ctx, cancel := context.WithTimeout(r.Context(), chatTimeout)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(s.life, func() { end(errShutdown) })()
	c := &conversation{service: s, thread: thread, request: req}
	if err := c.begin(); err != nil {
		refuse(w, http.StatusServiceUnavailable, "too many chats at a time")
		return
	}
	defer c.end()
	c.run(ctx, newEvents(w))
}

// readChat reads and judges the body.
func readChat(w http.ResponseWriter, r *http.Request) (*chatRequest, int, error) {
	// A page of another origin can post anything but JSON without being asked.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, http.StatusUnsupportedMediaType, errors.New("the body must be application/json")
	}
	req, err := decodeChat(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		var tooLong *http.MaxBytesError
		if errors.As(err, &tooLong) {
			return nil, http.StatusRequestEntityTooLarge, errors.New("the body is too long")
		}
		return nil, http.StatusBadRequest, errors.New("the body is not a chat request")
	}
	switch {
	case strings.TrimSpace(req.Content) == "":
		return nil, http.StatusBadRequest, errors.New("content is empty")
	case utf8.RuneCountInString(req.Content) > maxMessage:
		return nil, http.StatusBadRequest, fmt.Errorf("content is longer than %d characters", maxMessage)
	case req.ThreadType != threadAssistant && req.ThreadType != threadAnalyst:
		return nil, http.StatusBadRequest, errors.New("thread_type must be assistant or ba_assistant")
	}
	return req, 0, nil
}

// refuse answers with an error in the form S4's framework has.
func refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"detail": detail}) // the client is gone, or it is not
}

// A conversation is one chat request with its token.
type conversation struct {
	service *service
	thread  string
	request *chatRequest
	token   string // empty when no file is asked for

	text   string
	usage  agent.Usage
	told   map[string]bool // the artifacts the client has been told of
	failed bool
}

// begin registers the token, before anything can use it (pitfall 1).
func (c *conversation) begin() error {
	c.told = map[string]bool{}
	if !c.request.Generate || c.request.ThreadType != threadAssistant {
		return nil
	}
	token := uuid.NewString()
	if err := c.service.tokens.Register(token, c.thread, time.Now()); err != nil {
		return err
	}
	c.token = token
	return nil
}

// end makes the token worthless, however the request ended (C-45).
func (c *conversation) end() {
	if c.token != "" {
		c.service.tokens.Unregister(c.token)
	}
}

// run runs the agent. Its events reach the client as they come, and
// message_complete is the last, unless the agent failed.
func (c *conversation) run(ctx context.Context, out *events) {
	log := c.service.log.With(slog.String("thread_id", c.thread), slog.String("session", registry.Short(c.token)))
	log.InfoContext(ctx, "chat_started", slog.Bool("artifact_generation", c.request.Generate), slog.String("thread_type", c.request.ThreadType))
	task := agent.Task{System: systemPrompt(c.request.ThreadType, c.request.Generate, c.token), Content: c.request.Content}
	err := c.service.runner.Run(ctx, task, func(line json.RawMessage) { c.take(ctx, log, out, agent.Translate(line)) })
	// What was saved exists, so the client hears of it, even if the marker
	// got lost on its way or the agent died after the call.
	for _, saved := range c.service.tokens.Saved(c.token) {
		c.tell(out, marker.Created(saved))
	}
	if err != nil || c.failed {
		c.fail(ctx, log, out, err)
		return
	}
	out.send("message_complete", map[string]any{"content": c.redact(marker.Strip(c.text)), "usage": c.usage})
	log.InfoContext(ctx, "chat_completed", slog.Int("artifacts", len(c.told)))
}

// fail ends a chat without an answer. One that was cancelled is no error: neither
// the agent nor the server is at fault.
func (c *conversation) fail(ctx context.Context, log *slog.Logger, out *events, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		cause := errDisconnected
		if errors.Is(context.Cause(ctx), errShutdown) {
			cause = errShutdown
		}
		log.InfoContext(ctx, "chat_cancelled", slog.String("cause", cause.Error()))
		out.send("error", map[string]string{"message": "The chat was cancelled"})
		return
	}
	reason := "the agent reported a failure"
	if err != nil {
		reason = c.redact(err.Error())
	}
	log.ErrorContext(ctx, "chat_failed", slog.String("error", reason))
	out.send("error", map[string]string{"message": "The agent failed"})
}

func (c *conversation) take(ctx context.Context, log *slog.Logger, out *events, chunk agent.Chunk) {
	if chunk.Malformed {
		log.WarnContext(ctx, "artifact_marker_malformed")
	}
	if chunk.Created != nil {
		c.announced(ctx, log, out, *chunk.Created)
	}
	if chunk.Text != "" {
		c.text = chunk.Text // the result repeats the last thing said
	}
	if chunk.Complete {
		c.usage, c.failed = chunk.Usage, chunk.Failed
	}
}

// announced tells the client of the artifact a marker names, if it was saved
// under this token: a model can also write a marker without calling the tool,
// and a user can paste an old one.
func (c *conversation) announced(ctx context.Context, log *slog.Logger, out *events, created marker.Created) {
	for _, saved := range c.service.tokens.Saved(c.token) {
		if saved.ID == created.ID {
			c.tell(out, marker.Created(saved))
			return
		}
	}
	log.WarnContext(ctx, "artifact_marker_without_artifact")
}

func (c *conversation) tell(out *events, created marker.Created) {
	if !c.told[created.ID] {
		c.told[created.ID] = true
		out.send("artifact_created", created)
	}
}

// redact removes the token from text that leaves the server (S4-REG-05).
func (c *conversation) redact(text string) string {
	if c.token == "" {
		return text
	}
	return strings.ReplaceAll(text, c.token, "[token]")
}
