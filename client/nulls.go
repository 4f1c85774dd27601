package client

// WithNullRepair leaves out arguments that are null where the tool's schema has
// the property, does not require it and does not take null: many models write null
// for what they leave out, and many servers refuse it. It changes only arguments
// that do not fit otherwise, at any depth of named properties, and does nothing
// under [ValidateOff]. The default is off.
func WithNullRepair() Option { return optionFunc(func(c *config) { c.nulls = true }) }
