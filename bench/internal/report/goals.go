package report

import "io"

// Goals writes the goals.
func Goals(io.Writer, []Outcome) error { return nil }
