package server

import (
	"io"
	"log/slog"
	"time"
)

// logTime is ISO 8601 in UTC with milliseconds.
const logTime = "2006-01-02T15:04:05.000Z"

// NewLogger returns a logger that writes one JSON object a line to w, with the keys
// timestamp, event, and the attributes of the record. Errors of w are dropped: a logging
// failure never fails a tool.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 {
				return a
			}
			switch a.Key {
			case slog.TimeKey:
				if a.Value.Kind() == slog.KindTime {
					return slog.String("timestamp", a.Value.Time().UTC().Truncate(time.Millisecond).Format(logTime))
				}
			case slog.MessageKey:
				a.Key = "event"
			}
			return a
		},
	}))
}
