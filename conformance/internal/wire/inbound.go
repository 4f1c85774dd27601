package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// Inbound is one message, or another event, from the subject.
type Inbound struct {
	// Data is a message, or a line that is no message.
	Data []byte
	// Members are the members of the message when data is one JSON object.
	Members map[string]json.RawMessage
	// Err is why Data is no message, or what broke the stream.
	Err  error
	HTTP *conformance.HTTPInfo
	// To identifies the HTTP response: the id of the request, or a token. Ended marks the
	// end of the response, without a message.
	To    string
	Ended bool
	// Event is the id of its event. Priming marks an event with an id or a retry time and
	// no message. Name is the name of the event on the HTTP+SSE transport.
	Event   string
	Name    string
	Priming bool
	// Retry: its event has a retry time.
	Retry bool
	// Occasion is the request that the message answers, or else the one during or after which it
	// came; nil if the suite had sent none.
	Occasion *conformance.Frame
}

var (
	errNotObject = errors.New("not a JSON object")
	// ErrClosed reports a closed connection.
	ErrClosed   = errors.New("the server closed the connection")
	errTooLarge = fmt.Errorf("larger than %d MiB", MaxFrame>>20)
)

// ToNotification reports whether it is of the HTTP response to a notification.
func (in Inbound) ToNotification() bool { return strings.HasPrefix(in.To, notificationToken) }

// Frame is the message as evidence.
func (in Inbound) Frame() conformance.Frame {
	return conformance.Frame{Dir: conformance.FromServer, Data: bytes.Clone(in.Data[:min(len(in.Data), KeptBytes)]), Size: len(in.Data), HTTP: in.HTTP}
}

// Received parses bytes from the wire.
func Received(data []byte, info *conformance.HTTPInfo) Inbound {
	in := Inbound{Data: data, HTTP: info}
	if !utf8.Valid(data) {
		in.Err = errors.New("not UTF-8")
		return in
	}
	if err := json.Unmarshal(data, &in.Members); err != nil {
		in.Err = err
		if json.Valid(data) {
			in.Err = errNotObject
		}
		in.Members = nil
	} else if in.Members == nil {
		in.Err = errNotObject // null
	}
	return in
}

// ID returns the id as JSON text in one spelling, "" when absent.
func (in Inbound) ID() string { return SpelledID(in.Members["id"]) }

// SpelledID normalizes the escapes of a string id, so that ids can be compared. A number is
// unchanged, and so is a string that cannot be decoded without loss.
func SpelledID(raw json.RawMessage) string {
	if !bytes.ContainsRune(raw, '\\') || !rawjson.IsString(raw) {
		return string(raw)
	}
	plain := rawjson.Text(raw)
	if strings.ContainsRune(plain, utf8.RuneError) {
		return string(raw)
	}
	var out bytes.Buffer
	write := json.NewEncoder(&out)
	write.SetEscapeHTML(false)
	if write.Encode(plain) != nil {
		return string(raw)
	}
	return separators.Replace(strings.TrimSuffix(out.String(), "\n"))
}

// separators are characters that the encoder escapes and a server need not.
var separators = strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029")

// Method returns the method, "" when absent.
func (in Inbound) Method() string {
	var m string
	_ = json.Unmarshal(in.Members["method"], &m) // no method: no string
	return m
}

// IsResponse reports whether this is a message without a method.
func (in Inbound) IsResponse() bool {
	if in.Members == nil {
		return false
	}
	_, method := in.Members["method"]
	return !method
}

// parts returns the messages of an array, each as a message.
func (in Inbound) parts() []Inbound {
	var raw []json.RawMessage
	if !rawjson.IsArray(in.Data) || json.Unmarshal(in.Data, &raw) != nil {
		return nil
	}
	var out []Inbound
	for _, data := range raw {
		part := Received(data, in.HTTP)
		part.To, part.Event = in.To, in.Event
		out = append(out, part)
	}
	return out
}
