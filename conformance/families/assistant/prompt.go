package assistant

import "strings"

// The types of thread.
const (
	threadAssistant = "assistant"
	threadAnalyst   = "ba_assistant"
)

// analystPrompt is that of business-analysis threads. It is the same whatever
// the request asks for (pitfall 6).
const analystPrompt = "You are a business analyst. Ask first in which mode to work: (A) take notes of a meeting, or (B) write requirements. " +
	"Then ask for what you need, one question at a time, and write user stories, acceptance criteria or requirements in Markdown."

// generationPrompt tells an agent to save a file (GEN-01).
const generationPrompt = "You are a file generation assistant. When asked to generate a file:\n" +
	"1. Call the save_artifact tool with title, content_markdown and session_token='{session_token}'\n" +
	"2. Call save_artifact ONCE and stop immediately after\n" +
	"3. Write no other text before or after the call"

// systemPrompt returns the prompt of a thread: an assistant gets one only when
// it is to generate a file, and that one carries the token.
func systemPrompt(threadType string, generate bool, token string) string {
	switch {
	case threadType == threadAnalyst:
		return analystPrompt
	case threadType == threadAssistant && generate:
		return strings.ReplaceAll(generationPrompt, "{session_token}", token)
	}
	return ""
}
