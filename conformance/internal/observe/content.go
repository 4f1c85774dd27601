package observe

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Checks of every content block of the subject.
const (
	SeenBlockType   = "TOOL-13/type"
	SeenBase64      = "TOOL-13/base64"
	SeenMIME        = "TOOL-13/mime"
	SeenMagic       = "TOOL-13/magic"
	SeenBlockURI    = "TOOL-13/uri"
	SeenEmbedded    = "TOOL-13/embedded"
	SeenBinary      = "TOOL-13/binary"
	SeenAnnotations = "RES-07/annotations"
	SeenRole        = "PRM-01/role"
	SeenMessages    = "PRM-01/messages"
	SeenContents    = "RES-02/contents"
)

// content judges the content of one result.
func (o *Observer) content(s *wire.Session, in wire.Inbound) {
	result, ok := rawjson.Object(in.Members["result"])
	if !ok || s.Wrong[in.ID()] || rawjson.Text(result["resultType"]) == string(mcp.ResultInputRequired) {
		return
	}
	revision := s.Stateless
	if s.Opened != nil {
		revision = s.Opened.Revision
	}
	switch s.Methods[in.ID()] {
	case mcp.MethodToolsCall:
		var blocks []wire.ListEntry
		_ = json.Unmarshal(result["content"], &blocks) // another check judges it
		for _, block := range blocks {
			o.block(in, block, revision)
		}
	case mcp.MethodPromptsGet:
		var messages []wire.ListEntry
		fault := ""
		if json.Unmarshal(result["messages"], &messages) != nil || messages == nil {
			fault = "messages is " + rawjson.OrAbsent(result["messages"])
		}
		for i, m := range messages {
			role := rawjson.Text(m["role"])
			o.See(SeenRole, role == "user" || role == "assistant", in, "the role of message %d is %s", i, rawjson.OrAbsent(m["role"]))
			block, ok := rawjson.Object(m["content"])
			if !ok {
				fault = fmt.Sprintf("the content of message %d is %s", i, rawjson.OrAbsent(m["content"]))
			} else {
				o.block(in, block, revision)
			}
		}
		o.See(SeenMessages, fault == "", in, "%s", fault)
	case mcp.MethodResourcesRead:
		var contents []wire.ListEntry
		fault := ""
		if json.Unmarshal(result["contents"], &contents) != nil || contents == nil {
			fault = "contents is " + rawjson.OrAbsent(result["contents"])
		}
		for _, c := range contents {
			fault += resourceFault(c)
			o.body(in, c)
		}
		o.See(SeenContents, fault == "", in, "%s", fault)
	}
}

// blockSince has the first revision with each type of block.
func blockSince() map[string]mcp.Version {
	return map[string]mcp.Version{
		"text": mcp.Version2024_11_05, "image": mcp.Version2024_11_05, "resource": mcp.Version2024_11_05,
		"audio": mcp.Version2025_03_26, "resource_link": mcp.Version2025_06_18,
	}
}

func (o *Observer) block(in wire.Inbound, block wire.ListEntry, revision mcp.Version) {
	kind := rawjson.Text(block["type"])
	since, known := blockSince()[kind]
	o.See(SeenBlockType, known && (!revision.Known() || revision.AtLeast(since)), in, "type is %s in %s", rawjson.OrAbsent(block["type"]), revision)
	if raw, there := block["annotations"]; there {
		fault := AudienceFault(raw)
		o.See(SeenAnnotations, fault == "", in, "%s", fault)
	}
	switch kind {
	case "image", "audio":
		media := rawjson.Text(block["mimeType"])
		o.See(SeenMIME, IsMIME(media) && strings.HasPrefix(strings.ToLower(media), kind+"/"), in, "mimeType of %s is %s", kind, rawjson.OrAbsent(block["mimeType"]))
		data, err := decodeBase64(rawjson.Text(block["data"]))
		o.See(SeenBase64, err == nil && len(data) > 0, in, "data of %s %s: %s", kind, rawjson.Clip(string(block["data"]), 40), notBase64(rawjson.Text(block["data"]), err))
		if magic := magicOf()[strings.ToLower(media)]; magic != "" && err == nil {
			o.See(SeenMagic, bytes.HasPrefix(data, []byte(magic)), in, "%s that begins with %q%s", media, data[:min(4, len(data))], twiceEncoded(data, magic))
		}
	case "resource_link":
		o.See(SeenBlockURI, IsAbsoluteURI(rawjson.Text(block["uri"])), in, "uri is %s", rawjson.OrAbsent(block["uri"]))
	case "resource":
		resource, _ := rawjson.Object(block["resource"])
		o.See(SeenBlockURI, IsAbsoluteURI(rawjson.Text(resource["uri"])), in, "uri is %s", rawjson.OrAbsent(resource["uri"]))
		fault := resourceFault(resource)
		o.See(SeenEmbedded, fault == "", in, "%s", fault)
		o.body(in, resource)
	}
}

// body judges the blob and the MIME type of a resource.
func (o *Observer) body(in wire.Inbound, resource wire.ListEntry) {
	if raw, there := resource["blob"]; there {
		_, err := decodeBase64(rawjson.Text(raw))
		o.See(SeenBase64, rawjson.IsString(raw) && err == nil, in, "blob of %s %s: %s", rawjson.Text(resource["uri"]), rawjson.Clip(string(raw), 40), notBase64(rawjson.Text(raw), err))
	}
	if raw, there := resource["mimeType"]; there {
		o.See(SeenMIME, IsMIME(rawjson.Text(raw)), in, "mimeType of %s is %s", rawjson.Text(resource["uri"]), rawjson.OrAbsent(raw))
		if text, is := resource["text"]; isBinary(rawjson.Text(raw)) {
			o.See(SeenBinary, !is, in, "%s is %s, and its text is %s", rawjson.Text(resource["uri"]), rawjson.Text(raw), rawjson.Clip(string(text), 60))
		}
	}
}

var errLineBreak = errors.New("a line break (RFC 4648, section 3.1)")

// decodeBase64 is base64.StdEncoding without its patience for line breaks.
func decodeBase64(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errLineBreak
	}
	return base64.StdEncoding.DecodeString(text)
}

// notBase64 says what is wrong with a text that should be base64.
func notBase64(text string, err error) string {
	switch {
	case err == nil:
		return "it is empty"
	case errors.Is(err, errLineBreak):
		return fmt.Sprintf("it has %v at character %d", err, strings.IndexAny(text, "\r\n"))
	case strings.HasPrefix(text, "data:"):
		return "it is a data: URL"
	case strings.ContainsAny(text, "-_"):
		return "it is in the alphabet of URLs (RFC 4648, section 5), not in that of section 4"
	case len(strings.TrimRight(text, "="))%4 != 0 && len(text)%4 != 0:
		return "its padding is missing"
	}
	return err.Error()
}

// twiceEncoded says that data is the base64 of what it should be, "" if it is not.
func twiceEncoded(data []byte, magic string) string {
	inner, err := decodeBase64(string(data))
	if err != nil || !bytes.HasPrefix(inner, []byte(magic)) {
		return ""
	}
	return ": it is still base64 after it was decoded"
}

// isBinary reports whether contents of a MIME type cannot be text.
func isBinary(mime string) bool {
	kind, form, _ := strings.Cut(strings.ToLower(mime), "/")
	return kind == "audio" || kind == "video" || kind == "image" && slices.Contains([]string{"png", "jpeg", "gif", "webp", "bmp", "avif"}, form)
}

// resourceFault describes a fault in the contents of a resource, "" if there is none.
func resourceFault(resource wire.ListEntry) string {
	_, hasText := resource["text"]
	_, hasBlob := resource["blob"]
	switch {
	case !rawjson.IsString(resource["uri"]):
		return "uri is " + rawjson.OrAbsent(resource["uri"])
	case hasText == hasBlob:
		return fmt.Sprintf("%s: text %s, blob %s", rawjson.Text(resource["uri"]), presence(hasText), presence(hasBlob))
	case hasText && !rawjson.IsString(resource["text"]):
		return "text is " + rawjson.OrAbsent(resource["text"])
	}
	return ""
}

// AudienceFault describes a fault in the annotations of content, "" if there is none.
func AudienceFault(raw json.RawMessage) string {
	annotations, ok := rawjson.Object(raw)
	if !ok {
		return "annotations is " + rawjson.OrAbsent(raw)
	}
	if raw, there := annotations["audience"]; there {
		var audience []string
		stranger := func(role string) bool { return role != "user" && role != "assistant" }
		if json.Unmarshal(raw, &audience) != nil || slices.ContainsFunc(audience, stranger) {
			return "audience is " + rawjson.OrAbsent(raw)
		}
	}
	if raw, there := annotations["priority"]; there {
		var priority float64
		if json.Unmarshal(raw, &priority) != nil || priority < 0 || priority > 1 {
			return "priority is " + rawjson.OrAbsent(raw)
		}
	}
	if raw, there := annotations["lastModified"]; there {
		if !isTime(rawjson.Text(raw)) {
			return "lastModified is " + rawjson.OrAbsent(raw)
		}
	}
	return ""
}

// isTime reports whether text is a date or a time of ISO 8601.
func isTime(text string) bool {
	for _, layout := range []string{time.RFC3339, time.DateOnly, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00"} {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

// IsMIME reports whether text is a MIME type: type/subtype with parameters.
func IsMIME(text string) bool {
	media, _, err := mime.ParseMediaType(text)
	kind, sub, slash := strings.Cut(media, "/")
	return err == nil && slash && kind != "" && sub != ""
}

// magicOf has the first bytes of each type.
func magicOf() map[string]string {
	return map[string]string{
		"image/png": "\x89PNG", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF", "audio/wav": "RIFF", "audio/ogg": "OggS",
	}
}

// scheme is how an absolute URI begins (RFC 3986, section 3.1).
var scheme = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*:.`)

// IsAbsoluteURI reports whether text is a URI with a scheme (RFC 3986). net/url would reject
// percent-encoding where a host may have it.
func IsAbsoluteURI(text string) bool {
	return scheme.MatchString(text) && strings.IndexFunc(text, func(c rune) bool { return c <= 0x20 || c == 0x7F }) < 0
}
