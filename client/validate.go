package client

// Validation sets what is checked against a tool's schemas, on both ways, and what
// happens to values that do not fit. The zero Validation refuses arguments, and returns
// results with a warning.
type Validation struct {
	// Arguments says what happens to arguments that do not fit the tool's input schema.
	// The default is [ValidateStrict], which sends nothing.
	Arguments ValidationMode
	// Results says what happens to structured content that does not fit the tool's output
	// schema. The default is [ValidateWarn], because the tool has run: the result is
	// returned, [OutputMismatch] is emitted, and the first result of each tool and schema
	// is logged. [ValidateStrict] fails the call with an [*OutputError]. Results with
	// IsError set are not checked.
	Results ValidationMode
	// DropNulls leaves out arguments that are null where the tool's schema has the
	// property, does not require it and does not accept null: many models write null for
	// what they leave out, and many servers refuse it. It changes only arguments that do
	// not fit otherwise, at any depth of named properties.
	DropNulls bool
	// ResultTypes refuses results of the stateless era without a resultType, which the
	// protocol requires. By default the client takes such a result for complete, and logs
	// the first, because many servers forget it.
	//
	// # Experimental
	//
	// It may go once servers follow the protocol.
	ResultTypes bool
}

// ValidationMode says what happens to a value that does not fit its schema. The zero
// ValidationMode is the default of its field in [Validation].
type ValidationMode uint8

const (
	// ValidateStrict refuses values that do not fit. A schema that does not compile is
	// logged and refuses nothing.
	ValidateStrict ValidationMode = iota + 1
	// ValidateWarn reports values that do not fit, and lets them pass.
	ValidateWarn
	// ValidateOff checks nothing.
	ValidateOff
)

// WithValidation sets what is checked against the schemas of tools; see [Validation].
func WithValidation(v Validation) Option {
	return optionFunc(func(c *config) { overlay(&c.validation, v) })
}
