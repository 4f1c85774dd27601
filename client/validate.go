package client

// Validation sets how values are checked against a tool's schemas. By default, arguments
// that do not match are refused, and results that do not match are returned with a warning.
type Validation struct {
	// Arguments sets what happens to arguments that do not match the tool's input schema.
	// The default is [ValidateStrict], which sends nothing. [Client.Call] checks arguments only
	// if it is set.
	Arguments ValidationMode
	// Results sets what happens to structured content that does not match the tool's output
	// schema. The default is [ValidateWarn], because the tool has run: the result is
	// returned, [OutputMismatch] is emitted, and the first result of each tool and schema
	// is logged. [ValidateStrict] fails the call with an [*OutputError]. Results with
	// IsError set are not checked.
	Results ValidationMode
	// DropNulls omits an argument that is null if the tool's schema has the property, does
	// not require it and does not accept null. Many models write null for absent
	// arguments, and many servers refuse it. It changes only arguments that do not match
	// otherwise, at any depth of named properties.
	DropNulls bool
	// ResultTypes refuses results of the stateless era without a resultType, which the
	// protocol requires. By default the client treats such a result as complete and logs
	// the first one, because many servers omit it.
	//
	// # Experimental
	ResultTypes bool
}

// ValidationMode sets what happens to a value that does not match its schema. 0 means the
// default, which [Validation] documents for each field.
type ValidationMode uint8

const (
	// ValidateStrict refuses values that do not match. A schema that does not compile is
	// logged and refuses nothing.
	ValidateStrict ValidationMode = iota + 1
	// ValidateWarn reports values that do not match, and uses them.
	ValidateWarn
	// ValidateOff checks nothing.
	ValidateOff
)

// WithValidation sets what is checked against the schemas of tools; see [Validation].
func WithValidation(v Validation) Option {
	return optionFunc(func(c *config) { overlay(&c.validation, v) })
}
