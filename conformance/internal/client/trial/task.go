package trial

import (
	"encoding/json"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// EnvTask names the environment variable that holds the [Task] as JSON.
const EnvTask = "MAINSTAY_CONFORM_TASK"

// Task is what the client should do in one scenario. docs/conformance-clients.md
// describes its members.
type Task struct {
	// Scenario is for logs.
	Scenario string `json:"scenario"`
	// Revision is the revision to speak. A client that negotiates may ignore it: the
	// server speaks no other.
	Revision  mcp.Version               `json:"revision"`
	Transport conformance.TransportKind `json:"transport"`
	// Negotiate asks the client to find out which era the server speaks. It will find
	// Revision. A client of one era connects as usual, or reports "unsupported".
	Negotiate bool `json:"negotiate,omitempty"`
	// Tasks asks the client to declare the tasks extension, if it has it.
	Tasks bool `json:"tasks,omitempty"`
	// URL is the endpoint over HTTP, Command the program and its arguments over stdio.
	// The other one is empty.
	URL     string   `json:"url,omitempty"`
	Command []string `json:"command,omitempty"`
	// Login says how to log in when the server requires it, nil if it does not.
	Login *Login `json:"login,omitempty"`
	// Answers says how to answer requests of the server. The client should not offer a
	// feature that has no answer here.
	Answers Answers `json:"answers,omitzero"`
	// Steps run one after another. The first connects, the last closes.
	Steps []Step `json:"steps"`
}

// Login is how the client should log in. The zero value is a person without a registered
// client: the client opens the login page itself, with GET, and follows redirects to its
// redirect URI.
type Login struct {
	// Flow is empty for a person, else [FlowSecret] or [FlowKey].
	Flow string `json:"flow,omitempty"`
	// ClientID and ClientSecret were registered in advance at Issuer. PrivateKey is the
	// client's, for ES256: PEM, PKCS #8.
	ClientID     string `json:"clientId,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty"`
	PrivateKey   string `json:"privateKey,omitempty"`
	Issuer       string `json:"issuer,omitempty"`
	// ClientMetadata is the URL of the client's metadata document. Nobody fetches it.
	ClientMetadata string `json:"clientMetadata,omitempty"`
	// DPoP asks for tokens that are bound to a key (RFC 9449).
	DPoP bool `json:"dpop,omitempty"`
}

// The flows of a [Login] without a person.
const (
	FlowSecret = "client-credentials"
	FlowKey    = "private-key-jwt"
)

// Answers are the answers of the client features, for clients that have them.
type Answers struct {
	// Elicit is the result of elicitation/create for each form. ElicitURL is the action
	// for each request to send the user to a page.
	Elicit    json.RawMessage `json:"elicit,omitempty"`
	ElicitURL string          `json:"elicitUrl,omitempty"`
	// Sample is the result of sampling/createMessage.
	Sample json.RawMessage `json:"sample,omitempty"`
	// Roots are the URIs of the client's roots.
	Roots []string `json:"roots,omitempty"`
}

// The steps that are no calls.
const (
	Connect = "connect"
	Close   = "close"
)

// Step is one thing to do.
type Step struct {
	// Call is [Connect], [Close], or the method to call. A list is walked to its end.
	Call string `json:"call"`
	// URL is the server of a [Connect] step, if it is not [Task.URL].
	URL string `json:"url,omitempty"`
	// Name is that of a tool or a prompt, URI that of a resource.
	Name string `json:"name,omitempty"`
	URI  string `json:"uri,omitempty"`
	// Arguments are those of a tool or a prompt, to be sent unchanged.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Params are the params of a method that has no other fields here:
	// completion/complete, logging/setLevel and subscriptions/listen.
	Params json.RawMessage `json:"params,omitempty"`
	// ForMs is how long a subscription is held before the client ends it.
	ForMs int `json:"forMs,omitempty"`
	// DeadlineMs is the timeout of the step; 0 leaves it to the client.
	DeadlineMs int `json:"deadlineMs,omitempty"`
	// CancelAfterMs is the time after which the caller cancels the step; 0 is never.
	CancelAfterMs int `json:"cancelAfterMs,omitempty"`
	// Progress asks for progress.
	Progress bool `json:"progress,omitempty"`
	// Times makes the call that often at once, each with one more argument, n, that
	// counts from 0. The client prints one line for each. 0 is once, without n.
	Times int `json:"times,omitempty"`
}

// Call returns a step that calls a tool with arguments, which are JSON.
func Call(tool, arguments string) Step {
	return Step{Call: mcp.MethodToolsCall, Name: tool, Arguments: json.RawMessage(arguments)}
}

// ListTools returns a step that walks the list of tools.
func ListTools() Step { return Step{Call: mcp.MethodToolsList} }

// Within returns the step with a timeout.
func (s Step) Within(d time.Duration) Step {
	s.DeadlineMs = int(d.Milliseconds())
	return s
}
