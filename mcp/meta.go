package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Keys of _meta that the protocol gives a meaning.
const (
	// MetaProgressToken asks for progress notifications (all revisions).
	MetaProgressToken = "progressToken"
	// MetaTraceParent, MetaTraceState and MetaBaggage are W3C trace context.
	MetaTraceParent = "traceparent"
	MetaTraceState  = "tracestate"
	MetaBaggage     = "baggage"

	// MetaProtocolVersion, MetaClientCapabilities and MetaClientInfo are on
	// every request of the stateless era.
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	// MetaLogLevel asks for log messages about one request.
	MetaLogLevel = "io.modelcontextprotocol/logLevel"
	// MetaServerInfo is in results of the stateless era.
	MetaServerInfo = "io.modelcontextprotocol/serverInfo"
	// MetaSubscriptionID is the id of the subscription that a notification belongs to.
	MetaSubscriptionID = "io.modelcontextprotocol/subscriptionId"

	// MetaRelatedTask and MetaModelImmediateResponse belong to the tasks of
	// 2025-11-25.
	MetaRelatedTask            = "io.modelcontextprotocol/related-task"
	MetaModelImmediateResponse = "io.modelcontextprotocol/model-immediate-response"
)

// RelatedTask is the value of [MetaRelatedTask] (schema RelatedTaskMetadata).
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type RelatedTask struct {
	TaskID string
	Extra  Members
	zero   presence
}

func (v *RelatedTask) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "taskId", required, &v.TaskID)
}

// MetaValue returns the value of a key of a raw _meta object. ok is false when
// the object or the key is absent or cannot be read.
func MetaValue(meta json.RawMessage, key string) (value json.RawMessage, ok bool) {
	if len(meta) == 0 {
		return nil, false
	}
	err := withCodec(meta, func(c *codec) {
		c.readMembers(func(name string) {
			if v := c.next(); name == key {
				value, ok = v, true
			}
		})
	})
	if err != nil {
		return nil, false
	}
	return value, ok
}

// CheckMeta returns an error if a caller must not send a _meta object. Keys
// must be well formed. Keys that the protocol reserves are rejected, except
// the progress token and the W3C trace keys, whose values must be valid. nil
// passes.
func CheckMeta(meta json.RawMessage) error {
	if meta == nil {
		return nil
	}
	var fault error
	err := withCodec(meta, func(c *codec) {
		c.readMembers(func(name string) {
			value := c.next()
			if fault == nil {
				fault = CheckMetaKey(name)
			}
			if fault == nil {
				fault = checkTrace(name, value)
			}
			if fault == nil && ReservedMetaKey(name) {
				fault = fmt.Errorf("_meta key %q is reserved by the protocol", name)
			}
		})
	})
	if err != nil {
		return fmt.Errorf("_meta: %w", err)
	}
	return fault
}

// CheckMetaKey returns an error if a _meta key is malformed. A key is an
// optional prefix of dot-separated labels and a slash, then a name. It also
// checks the ids of extensions, which must have a prefix.
func CheckMetaKey(key string) error {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		prefix, name = "", key
	}
	if found {
		for label := range strings.SplitSeq(prefix, ".") {
			if !isLabel(label) {
				return fmt.Errorf("_meta key %q: the prefix label %q is not letters, digits and hyphens from a letter to a letter or digit", key, label)
			}
		}
	}
	if !isMetaName(name) {
		return fmt.Errorf("_meta key %q: the name is not letters, digits, '-', '_' and '.' between letters or digits", key)
	}
	return nil
}

// ReservedMetaKey reports whether any revision reserves the key for the
// protocol. It returns false for the bare names that everybody may send.
func ReservedMetaKey(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		return false
	}
	labels := strings.Split(prefix, ".")
	// Since 2025-11-25 the second label decides.
	if len(labels) >= 2 && isProtocolLabel(labels[1]) {
		return true
	}
	// In 2025-06-18 it is the last label but one, wherever that is.
	return len(labels) >= 2 && isProtocolLabel(labels[len(labels)-2])
}

func isProtocolLabel(label string) bool {
	return label == "modelcontextprotocol" || label == "mcp"
}

func isLabel(s string) bool {
	if s == "" || !isLetter(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

func isMetaName(s string) bool {
	if s == "" {
		return true
	}
	if !isAlphanumeric(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isAlphanumeric(c byte) bool { return isLetter(c) || (c >= '0' && c <= '9') }
