//go:build !linux

package doctor

// CountsChildren is set where [Children] can tell.
const CountsChildren = false

// Process is a process of this machine.
type Process struct {
	ID   int
	Name string
}

// Children cannot tell here.
func Children() []Process { return nil }

// Left cannot tell here.
func Left([]Process) []Process { return nil }
