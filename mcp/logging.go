package mcp

import (
	"encoding/json"
	"log/slog"
)

// LoggingLevel is the severity of a log message (schema LoggingLevel, after
// RFC 5424). Any text is possible.
type LoggingLevel string

// The levels, least severe first.
const (
	LevelDebug     LoggingLevel = "debug"
	LevelInfo      LoggingLevel = "info"
	LevelNotice    LoggingLevel = "notice"
	LevelWarning   LoggingLevel = "warning"
	LevelError     LoggingLevel = "error"
	LevelCritical  LoggingLevel = "critical"
	LevelAlert     LoggingLevel = "alert"
	LevelEmergency LoggingLevel = "emergency"
)

var levels = [...]struct {
	level LoggingLevel
	slog  slog.Level
}{
	{LevelDebug, slog.LevelDebug},
	{LevelInfo, slog.LevelInfo},
	{LevelNotice, slog.LevelInfo + 2},
	{LevelWarning, slog.LevelWarn},
	{LevelError, slog.LevelError},
	{LevelCritical, slog.LevelError + 4},
	{LevelAlert, slog.LevelError + 8},
	{LevelEmergency, slog.LevelError + 12},
}

// Known reports whether l is one of the eight levels.
func (l LoggingLevel) Known() bool {
	for _, row := range levels {
		if row.level == l {
			return true
		}
	}
	return false
}

// Slog returns the level for [log/slog]. An unknown level is [slog.LevelInfo].
func (l LoggingLevel) Slog() slog.Level {
	for _, row := range levels {
		if row.level == l {
			return row.slog
		}
	}
	return slog.LevelInfo
}

// SetLevelParams sets the least severe level that a server sends (schema
// SetLevelRequestParams; up to 2025-11-25).
type SetLevelParams struct {
	Level LoggingLevel
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *SetLevelParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "level", required, &v.Level)
	c.raw("_meta", &v.Meta)
}

// LoggingMessageParams is a log message of a server (schema
// LoggingMessageNotificationParams). All of it is untrusted text.
type LoggingMessageParams struct {
	Level  LoggingLevel
	Logger string
	// Data is any JSON value, null included.
	Data  json.RawMessage
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *LoggingMessageParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "level", written, &v.Level)
	str(c, "logger", optional, &v.Logger)
	c.value("data", &v.Data)
	c.raw("_meta", &v.Meta)
}
