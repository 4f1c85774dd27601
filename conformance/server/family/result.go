package family

// A Result is what a tool returns when the plain payload does not say it all.
type Result struct {
	// Payload is the object of the answer: the text block as JSON, and the
	// structured content where the revision knows it. Nil with a Text is an
	// answer of plain text alone.
	Payload any
	// Text, when not empty, is the text block instead of the payload's JSON.
	Text string
	// Verbatim makes Text the text block also when it is empty.
	Verbatim bool
	// IsError marks an application failure that the family reports in a result.
	// Failed calls are logged as such.
	IsError bool
}
