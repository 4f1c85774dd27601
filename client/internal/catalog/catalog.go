package catalog

// Catalog is what is known of the tools of one server besides their list. The zero
// value is ready and small. Its methods may be called from many goroutines at once.
type Catalog struct {
	Arguments, Results Schemas
	Headers            Mirrors
	Definitions        Definitions
}
