package clientsuite

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// EnvTask names the environment variable that holds the [Task] as JSON.
const EnvTask = "MAINSTAY_CONFORM_TASK"

// Task is what a client is asked to do in one scenario.
type Task struct {
	// Scenario is for logs; a client has no need to know scenarios.
	Scenario string `json:"scenario"`
	// Revision is the one to speak. A client that negotiates may ignore
	// it: the server speaks no other.
	Revision  mcp.Version               `json:"revision"`
	Transport conformance.TransportKind `json:"transport"`
	// Negotiate asks the client to find out what the server speaks, as clients of
	// both eras do: it will find Revision. A client of one era connects as usual, or
	// reports this as unsupported.
	Negotiate bool `json:"negotiate,omitempty"`
	// Tasks says that the client is to declare the tasks extension, where it has it
	// and the revision, too.
	Tasks bool `json:"tasks,omitempty"`
	// URL is the endpoint over HTTP, Command the program and its arguments over
	// stdio. The other one is empty.
	URL     string   `json:"url,omitempty"`
	Command []string `json:"command,omitempty"`
	// Login says how to log in when the server demands it, nil if it does not.
	Login *Login `json:"login,omitempty"`
	// Answers says how to answer what the server asks for. What is absent is
	// not to be offered.
	Answers Answers `json:"answers,omitzero"`
	// Steps are done one after another, the next when the one before has ended.
	// The first connects, the last closes.
	Steps []Step `json:"steps"`
}

// Login is how a client is to log in. The zero value is a person without anything that
// was registered in advance: the client opens the login page itself, with GET, and
// follows redirects to its redirect URI.
type Login struct {
	// Flow is empty for a person, else client-credentials or private-key-jwt.
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

// Answers are the client features a task wants, for clients that have them.
type Answers struct {
	// Elicit answers each form: the result of elicitation/create. ElicitURL
	// answers each request to send the user to a place: its action.
	Elicit    json.RawMessage `json:"elicit,omitempty"`
	ElicitURL string          `json:"elicitUrl,omitempty"`
	// Sample answers each sampling request: the result of
	// sampling/createMessage.
	Sample json.RawMessage `json:"sample,omitempty"`
	// Roots are the client's roots: URIs.
	Roots []string `json:"roots,omitempty"`
}

// Step is one thing to do.
type Step struct {
	// Call is "connect", "close", or the method to call. A list is walked to its
	// end.
	Call string `json:"call"`
	// Name is that of a tool or a prompt, URI that of a resource.
	Name string `json:"name,omitempty"`
	URI  string `json:"uri,omitempty"`
	// Arguments are those of a tool or a prompt, to be sent as they are.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Params are the params of a method that has no other fields here: those of
	// completion/complete, logging/setLevel and subscriptions/listen.
	Params json.RawMessage `json:"params,omitempty"`
	// ForMs is how long a subscription is held before the client ends it.
	ForMs int `json:"forMs,omitempty"`
	// DeadlineMs bounds the step: after it the client gives up. 0 leaves it to
	// the client.
	DeadlineMs int `json:"deadlineMs,omitempty"`
	// CancelAfterMs has the caller lose interest after so long.
	CancelAfterMs int `json:"cancelAfterMs,omitempty"`
	// Progress asks for progress.
	Progress bool `json:"progress,omitempty"`
	// Times makes the call so often at once, each with one more argument, n,
	// that counts from 0. One line for each. 0 is once, without n.
	Times int `json:"times,omitempty"`
}

// Outcome is how a step ended for the caller, a closed list.
type Outcome string

// The outcomes.
const (
	OutcomeResult      Outcome = "result"      // a result
	OutcomeToolError   Outcome = "tool-error"  // a result that says isError
	OutcomeError       Outcome = "error"       // refused by the server, or by the client itself
	OutcomeTimeout     Outcome = "timeout"     // the deadline passed
	OutcomeCanceled    Outcome = "canceled"    // the caller lost interest
	OutcomeClosed      Outcome = "closed"      // the connection was lost
	OutcomeUnsupported Outcome = "unsupported" // the client does not have this
)

// Line is what a client writes on its standard output, as one line of JSON, when
// a step has ended. Other lines are ignored.
type Line struct {
	// Step is the index into [Task.Steps], N the n of a call that is made
	// several times.
	Step int `json:"step"`
	N    int `json:"n,omitempty"`
	// Outcome is how it ended.
	Outcome Outcome `json:"outcome"`
	// Code is that of the server's JSON-RPC error.
	Code int64 `json:"code,omitempty"`
	// Result is the result of the method; of a walk through a list the one with
	// the items of all pages.
	Result json.RawMessage `json:"result,omitempty"`
	// Delivery is what became of the request, if the client reports it:
	// "not-sent", "rejected", "unknown" or "answered".
	Delivery string `json:"delivery,omitempty"`
	// Message is for people.
	Message string `json:"message,omitempty"`
}

// failed reports whether the caller got no result.
func (l Line) failed() bool {
	return l.Outcome != OutcomeResult && l.Outcome != OutcomeToolError
}
