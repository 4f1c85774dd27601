package seen

import (
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// contentScenarios judge the content of every result of a run.
func contentScenarios() []conformance.Scenario {
	return []conformance.Scenario{{
		ID: "SEEN-CONTENT", Area: "content", Title: "every block of content", Last: true, Run: runSeen,
		Checks: []conformance.Check{
			rule.Quoted(conformance.Must, observe.SeenBlockType, "each block has a type of its revision", "server/tools#tool-result", "Unstructured content is returned in the content field of a result, and can contain multiple content items of different types"),
			rule.Quoted(conformance.Must, observe.SeenBase64, "images, audio and blobs are base64", "server/prompts#image-content", "The image data MUST be base64-encoded and include a valid MIME type."),
			rule.Quoted(conformance.Must, observe.SeenMIME, "MIME types are types, image/ of images and audio/ of audio", "server/prompts#image-content", "The image data MUST be base64-encoded and include a valid MIME type."),
			rule.Quoted(conformance.Advice, observe.SeenMagic, "the bytes of an image are of its MIME type", "server/prompts#image-content", "The image data MUST be base64-encoded and include a valid MIME type."),
			rule.Quoted(conformance.Must, observe.SeenBlockURI, "links and embedded resources have an absolute uri", "server/prompts#embedded-resources", "Resources can contain either text or binary (blob) data and MUST include: a valid resource URI"),
			rule.Quoted(conformance.Must, observe.SeenEmbedded, "an embedded resource has text or a blob, and not both", "server/prompts#embedded-resources", "Resources can contain either text or binary (blob) data"),
			rule.Quoted(conformance.Must, observe.SeenAnnotations, "annotations have an audience of user and assistant, and a priority from 0 to 1", "server/resources#annotations", "priority: A number from 0.0 to 1.0 indicating the importance of this resource."),
			rule.Quoted(conformance.Must, observe.SeenRole, "messages of prompts have the role user or assistant", "server/prompts#promptmessage", "role: Either \"user\" or \"assistant\" to indicate the speaker"),
			rule.Quoted(conformance.Must, observe.SeenMessages, "prompts/get is answered with messages, each with one block", "server/prompts#promptmessage", "Messages in a prompt can contain: role … content: One of the following content types"),
			rule.Quoted(conformance.Must, observe.SeenContents, "resources/read is answered with contents, each with a uri and with text or a blob", "server/resources#resource-contents", "Resources can contain either text or binary data"),
		},
	}}
}

// metaScenarios judge each _meta of a run.
func metaScenarios() []conformance.Scenario {
	return []conformance.Scenario{{
		ID: "SEEN-META", Area: "base", Title: "every _meta of the server", Since: mcp.Version2025_06_18, Last: true, Run: runSeen,
		Checks: []conformance.Check{
			rule.Quoted(conformance.Must, observe.SeenMetaKeys, "the names in _meta have the form they must", "basic#meta", "Unless empty, MUST begin and end with an alphanumeric character ([a-z0-9A-Z])."),
		},
	}}
}
