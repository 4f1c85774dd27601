package office

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// values are the filled cells of a sheet.
type values map[point]string

// A block is a set of cells that touch, and the rectangle around them; to is exclusive.
type block struct {
	cells    []point
	from, to point
}

// An area is a merged range; to is exclusive.
type area struct{ from, to point }

// spans gives every filled cell its size. A merged range counts as far as the
// sheet is filled: whole columns are merged for looks.
func (v values) spans(merged []area) map[point]point {
	end := point{}
	spans := make(map[point]point, len(v))
	for at := range v {
		spans[at] = point{1, 1}
		end = point{max(end.row, at.row+1), max(end.col, at.col+1)}
	}
	for _, m := range merged {
		if _, filled := v[m.from]; !filled {
			continue
		}
		spans[m.from] = point{
			min(m.to.row, max(end.row, m.from.row+maxMerged)) - m.from.row,
			min(m.to.col, max(end.col, m.from.col+maxMerged)) - m.from.col,
		}
	}
	return spans
}

// maxMerged is how far a merged range may reach beyond what is filled.
const maxMerged = 64

// blocks finds the cells that touch, at a side or a corner. Blocks come in the
// order of their first cell, cells in the order of reading.
func blocks(spans map[point]point) ([]block, error) {
	order := slices.SortedFunc(maps.Keys(spans), func(a, b point) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col))
	})
	owner := map[point]point{} // place to the cell that covers it
	covered := 0
	for _, at := range order {
		span := spans[at]
		if covered += span.row * span.col; covered > 2*document.MaxCells {
			return nil, failf(StageBuild, TooLarge, "merged cells cover over %d places", 2*document.MaxCells)
		}
		for row := range span.row {
			for col := range span.col {
				owner[point{at.row + row, at.col + col}] = at
			}
		}
	}
	seen := map[point]bool{}
	var found []block
	for _, start := range order {
		if seen[start] {
			continue
		}
		seen[start] = true
		b := block{from: start, to: start}
		for queue := []point{start}; len(queue) > 0; queue = queue[1:] {
			at := queue[0]
			span := spans[at]
			b.cells = append(b.cells, at)
			b.from = point{min(b.from.row, at.row), min(b.from.col, at.col)}
			b.to = point{max(b.to.row, at.row+span.row), max(b.to.col, at.col+span.col)}
			for row := at.row - 1; row <= at.row+span.row; row++ {
				for col := at.col - 1; col <= at.col+span.col; col++ {
					if next, ok := owner[point{row, col}]; ok && !seen[next] {
						seen[next] = true
						queue = append(queue, next)
					}
				}
			}
		}
		slices.SortFunc(b.cells, func(a, b point) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.col, b.col)) })
		found = append(found, b)
	}
	return found, nil
}
