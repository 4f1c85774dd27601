package mcpotel

import (
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/attribute"
)

const (
	// maxNames and maxCodes limit the series that others can add to a metric: an SDK
	// keeps 2,000, and drops the attributes of all later ones.
	maxNames = 256
	maxCodes = 64
	// other is the conventions' name for all other values.
	other = "_OTHER"
)

// bounds limits attributes of metrics whose values others choose: names of tools and
// prompts, which a model may have invented, and codes of errors. It keeps the first ones.
// The zero value is ready.
type bounds struct{ names, codes first }

// limit replaces values in attrs.
func (b *bounds) limit(attrs []attribute.KeyValue) []attribute.KeyValue {
	for i, kv := range attrs {
		ok := true
		switch kv.Key {
		case keyToolName, keyPromptName:
			ok = b.names.admit(kv.Value.AsString(), maxNames)
		case keyStatusCode, keyErrorType:
			n, err := strconv.ParseInt(kv.Value.AsString(), 10, 64)
			// The codes that JSON-RPC reserves, and HTTP statuses. A value that is
			// not a number is a kind of package errors.
			reserved := -32768 <= n && n <= -32000 || 100 <= n && n <= 599
			ok = err != nil || reserved && b.codes.admit(kv.Value.AsString(), maxCodes)
		}
		if !ok {
			attrs[i] = kv.Key.String(other)
		}
	}
	return attrs
}

// first admits the first values.
type first struct {
	mu    sync.RWMutex
	known map[string]struct{}
}

func (f *first) admit(value string, most int) bool {
	f.mu.RLock()
	_, ok := f.known[value]
	full := len(f.known) >= most
	f.mu.RUnlock()
	if ok || full {
		return ok
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = map[string]struct{}{}
	}
	if _, ok := f.known[value]; !ok && len(f.known) >= most {
		return false
	}
	f.known[value] = struct{}{}
	return true
}
