package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Checks about every block of content the subject sent.
const (
	seenBlockType   = "TOOL-13/type"
	seenBase64      = "TOOL-13/base64"
	seenMIME        = "TOOL-13/mime"
	seenMagic       = "TOOL-13/magic"
	seenBlockURI    = "TOOL-13/uri"
	seenEmbedded    = "TOOL-13/embedded"
	seenAnnotations = "RES-07/annotations"
	seenRole        = "PRM-01/role"
	seenMessages    = "PRM-01/messages"
	seenContents    = "RES-02/contents"
)

// contentScenarios judge the content of every result of a run.
func contentScenarios() []Scenario {
	return []Scenario{{
		ID: "SEEN-CONTENT", Area: "content", Title: "every block of content", last: true, run: runSeen,
		Checks: []Check{
			quoted(Must, seenBlockType, "each block has a type of its revision", "server/tools#tool-result", "Unstructured content is returned in the content field of a result, and can contain multiple content items of different types"),
			quoted(Must, seenBase64, "images, audio and blobs are base64", "server/prompts#image-content", "The image data MUST be base64-encoded and include a valid MIME type."),
			quoted(Must, seenMIME, "MIME types are types, image/ of images and audio/ of audio", "server/prompts#image-content", "The image data MUST be base64-encoded and include a valid MIME type."),
			quoted(Advice, seenMagic, "the bytes of an image are of its MIME type", "server/prompts#image-content", "The image data MUST be base64-encoded and include a valid MIME type."),
			quoted(Must, seenBlockURI, "links and embedded resources have an absolute uri", "server/prompts#embedded-resources", "Resources can contain either text or binary (blob) data and MUST include: a valid resource URI"),
			quoted(Must, seenEmbedded, "an embedded resource has text or a blob, and not both", "server/prompts#embedded-resources", "Resources can contain either text or binary (blob) data"),
			quoted(Must, seenAnnotations, "annotations have an audience of user and assistant, and a priority from 0 to 1", "server/resources#annotations", "priority: A number from 0.0 to 1.0 indicating the importance of this resource."),
			quoted(Must, seenRole, "messages of prompts have the role user or assistant", "server/prompts#promptmessage", "role: Either \"user\" or \"assistant\" to indicate the speaker"),
			quoted(Must, seenMessages, "prompts/get is answered with messages, each with one block", "server/prompts#promptmessage", "Messages in a prompt can contain: role … content: One of the following content types"),
			quoted(Must, seenContents, "resources/read is answered with contents, each with a uri and with text or a blob", "server/resources#resource-contents", "Resources can contain either text or binary data"),
		},
	}}
}

// content judges the content of one result.
func (o *observer) content(s *wire.Session, in wire.Inbound) {
	result, ok := rawjson.Object(in.Members["result"])
	if !ok || rawjson.Text(result["resultType"]) == string(mcp.ResultInputRequired) {
		return
	}
	revision := s.Stateless
	if s.Opened != nil {
		revision = s.Opened.Revision
	}
	switch s.Asked[in.ID()] {
	case mcp.MethodToolsCall:
		var blocks []entry
		_ = json.Unmarshal(result["content"], &blocks) // TOOL-13/content judges it
		for _, block := range blocks {
			o.block(in, block, revision)
		}
	case mcp.MethodPromptsGet:
		var messages []entry
		fault := ""
		if json.Unmarshal(result["messages"], &messages) != nil || messages == nil {
			fault = "messages is " + rawjson.OrAbsent(result["messages"])
		}
		for i, m := range messages {
			role := rawjson.Text(m["role"])
			o.see(seenRole, role == "user" || role == "assistant", in, "the role of message %d is %s", i, rawjson.OrAbsent(m["role"]))
			block, ok := rawjson.Object(m["content"])
			if !ok {
				fault = fmt.Sprintf("the content of message %d is %s", i, rawjson.OrAbsent(m["content"]))
			} else {
				o.block(in, block, revision)
			}
		}
		o.see(seenMessages, fault == "", in, "%s", fault)
	case mcp.MethodResourcesRead:
		var contents []entry
		fault := ""
		if json.Unmarshal(result["contents"], &contents) != nil || contents == nil {
			fault = "contents is " + rawjson.OrAbsent(result["contents"])
		}
		for _, c := range contents {
			fault += resourceFault(c)
			o.body(in, c)
		}
		o.see(seenContents, fault == "", in, "%s", fault)
	}
}

// blockSince is the revision each type of block came with.
func blockSince() map[string]mcp.Version {
	return map[string]mcp.Version{
		"text": mcp.Version2024_11_05, "image": mcp.Version2024_11_05, "resource": mcp.Version2024_11_05,
		"audio": mcp.Version2025_03_26, "resource_link": mcp.Version2025_06_18,
	}
}

func (o *observer) block(in wire.Inbound, block entry, revision mcp.Version) {
	kind := rawjson.Text(block["type"])
	since, known := blockSince()[kind]
	o.see(seenBlockType, known && (!revision.Known() || revision.AtLeast(since)), in, "type is %s in %s", rawjson.OrAbsent(block["type"]), revision)
	if raw, there := block["annotations"]; there {
		fault := audienceFault(raw)
		o.see(seenAnnotations, fault == "", in, "%s", fault)
	}
	switch kind {
	case "image", "audio":
		media := rawjson.Text(block["mimeType"])
		o.see(seenMIME, isMIME(media) && strings.HasPrefix(strings.ToLower(media), kind+"/"), in, "mimeType of %s is %s", kind, rawjson.OrAbsent(block["mimeType"]))
		data, err := base64.StdEncoding.DecodeString(rawjson.Text(block["data"]))
		o.see(seenBase64, err == nil && len(data) > 0, in, "data of %s: %d bytes, %v", kind, len(data), err)
		if magic := magicOf()[strings.ToLower(media)]; magic != "" && err == nil {
			o.see(seenMagic, bytes.HasPrefix(data, []byte(magic)), in, "%s that begins with %q", media, data[:min(4, len(data))])
		}
	case "resource_link":
		o.see(seenBlockURI, isAbsoluteURI(rawjson.Text(block["uri"])), in, "uri is %s", rawjson.OrAbsent(block["uri"]))
	case "resource":
		resource, _ := rawjson.Object(block["resource"])
		o.see(seenBlockURI, isAbsoluteURI(rawjson.Text(resource["uri"])), in, "uri is %s", rawjson.OrAbsent(resource["uri"]))
		fault := resourceFault(resource)
		o.see(seenEmbedded, fault == "", in, "%s", fault)
		o.body(in, resource)
	}
}

// body judges the blob and the MIME type of a resource.
func (o *observer) body(in wire.Inbound, resource entry) {
	if raw, there := resource["blob"]; there {
		_, err := base64.StdEncoding.DecodeString(rawjson.Text(raw))
		o.see(seenBase64, rawjson.IsString(raw) && err == nil, in, "blob of %s: %v", rawjson.Text(resource["uri"]), err)
	}
	if raw, there := resource["mimeType"]; there {
		o.see(seenMIME, isMIME(rawjson.Text(raw)), in, "mimeType of %s is %s", rawjson.Text(resource["uri"]), rawjson.OrAbsent(raw))
	}
}

// resourceFault says what is wrong with the contents of a resource.
func resourceFault(resource entry) string {
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

// audienceFault says what is wrong with annotations of content, "" when nothing
// is.
func audienceFault(raw json.RawMessage) string {
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

// isMIME reports whether text is a MIME type: type/subtype with parameters.
func isMIME(text string) bool {
	media, _, err := mime.ParseMediaType(text)
	kind, sub, slash := strings.Cut(media, "/")
	return err == nil && slash && kind != "" && sub != ""
}

// magicOf is how the bytes of each type begin.
func magicOf() map[string]string {
	return map[string]string{
		"image/png": "\x89PNG", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF", "audio/wav": "RIFF", "audio/ogg": "OggS",
	}
}
