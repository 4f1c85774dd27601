package document

import (
	"errors"
	"fmt"
)

// Limits of a document, read or made. They bound what an export can cost.
const (
	MaxDepth = 200       // of the tree
	MaxNodes = 200_000   // groups and items together
	MaxCells = 250_000   // places in the grids of all tables together
	MaxPages = 100_000   // pages of one document
	MaxBytes = 128 << 20 // of JSON

	// ManyCells is from how many cells of tables on a document has each of them in
	// short, and tables without their grid, which readers compute from the cells.
	// It is then a tenth as large.
	ManyCells = 10_000

	maxCellText = 32 << 20 // bytes in all cells, counted at each place that they cover
	maxDropped  = 100      // sentences about what was dropped
)

var (
	// ErrSchema says that something is no DoclingDocument of a version read here.
	ErrSchema = errors.New("not a DoclingDocument that can be read")
	// ErrInvalid says that a document contradicts itself.
	ErrInvalid = errors.New("invalid document")
	// ErrTooLarge says that a document is over a limit.
	ErrTooLarge = errors.New("document too large")
)

func invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

func schemaf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSchema, fmt.Sprintf(format, args...))
}

func tooLargef(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrTooLarge, fmt.Sprintf(format, args...))
}
