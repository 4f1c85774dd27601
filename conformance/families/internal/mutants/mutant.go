package mutants

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Transport is the wire a mutant shows on.
type Transport string

// The transports.
const (
	HTTP  Transport = "http"
	Stdio Transport = "stdio"
)

// Mutant is one wrong server.
type Mutant struct {
	// ID names the defect.
	ID string
	// Says is what the server does wrong, in one clause.
	Says string
	// Breaks is the requirement it breaks.
	Breaks string
	// Transport is where it is judged; HTTP unless the defect is one of stdio.
	Transport Transport
	// Revisions are those it shows in, where that is not the newest of both
	// eras.
	Revisions []mcp.Version

	plant func() *defect
}

// Mutants returns every mutant, in the order of the table. The slice is the
// caller's own.
func Mutants() []Mutant {
	all := slices.Concat(
		rpcMutants(), lifecycleMutants(), httpMutants(), stdioMutants(), toolMutants(), contentMutants(),
		resourceMutants(), promptMutants(), utilityMutants(), statelessMutants(), inputMutants(), listenMutants(), seedMutants(),
	)
	for i := range all {
		if all[i].Transport == "" {
			all[i].Transport = HTTP
		}
	}
	return all
}

// Sound is the proxy that plants nothing: the server as it is.
func Sound() Mutant {
	return Mutant{ID: "sound", Says: "nothing", Transport: HTTP, plant: sound}
}

// sound reads and writes every message, as mutants do: what a suite measures must
// differ by the defect alone.
func sound() *defect {
	return &defect{
		request: func(*exchange) []object { return nil },
		answer:  func(_ *exchange, r object) []object { return []object{r} },
		note:    func(_ *exchange, n object) []object { return []object{n} },
	}
}
