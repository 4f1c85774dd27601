package document

import (
	"regexp"
	"slices"
	"strconv"
)

// Check says whether the document is one that a converter may hand out: sound
// in structure, list items in lists, tables without overlap, pages that exist,
// and texts that equal their source where nothing formats them (S2-CONV-06).
func Check(d *Document) error {
	if err := CheckStructure(d); err != nil {
		return err
	}
	nodes := d.index()
	for no, page := range d.Pages {
		if page == nil || no < 1 || page.No != no {
			return invalidf("page %d is not page_no %d", no, no)
		}
	}
	for _, t := range d.Texts {
		if err := checkText(t, nodes); err != nil {
			return err
		}
	}
	for _, t := range d.Tables {
		if err := checkOverlap(t); err != nil {
			return err
		}
	}
	for item := range d.items() {
		for _, p := range item.Prov {
			if d.Pages[p.PageNo] == nil {
				return invalidf("%s is on page %d, which does not exist", item.SelfRef, p.PageNo)
			}
		}
	}
	return nil
}

func checkText(t *Text, nodes map[string]Parent) error {
	if t.Label == ListItem {
		group, ok := nodes[t.Parent.Ref].(*Group)
		if !ok || group.Label != List && group.Label != OrderedList {
			return invalidf("list item %s is not in a list", t.SelfRef)
		}
	}
	if t.Formatting == nil && t.Text != t.Orig {
		return invalidf("%s has no formatting, and text that differs from orig", t.SelfRef)
	}
	return nil
}

// CheckStructure is what also a document from elsewhere must pass before it is
// walked: other writers leave list items alone or let cells overlap, and readers
// make the best of it.
func CheckStructure(d *Document) error {
	if err := checkVersion(d); err != nil {
		return err
	}
	if err := checkTree(d); err != nil {
		return err
	}
	cells, text := 0, 0
	for _, t := range d.Tables {
		n, err := checkCells(t)
		if err != nil {
			return err
		}
		if cells += n; cells > MaxCells {
			return tooLargef("over %d table cells", MaxCells)
		}
		for _, c := range t.Data.Cells {
			if text += len(c.Text) * (c.EndRow - c.StartRow) * (c.EndCol - c.StartCol); text > maxCellText {
				return tooLargef("over %d bytes in table cells, merged ones repeated", maxCellText)
			}
		}
	}
	return nil
}

var semver = regexp.MustCompile(`^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:[-+][0-9A-Za-z.+-]+)?$`)

func checkVersion(d *Document) error {
	if d.SchemaName != SchemaName {
		return schemaf("schema_name is %q", d.SchemaName)
	}
	return CheckVersion(d.Version)
}

// CheckVersion refuses a version that a reader of Version does not know: another
// major or a later minor.
func CheckVersion(version string) error {
	theirs, ours := semver.FindStringSubmatch(version), semver.FindStringSubmatch(Version)
	if theirs == nil {
		return schemaf("version %q is no semantic version", version)
	}
	minor, _ := strconv.Atoi(theirs[2])
	known, _ := strconv.Atoi(ours[2])
	if theirs[1] != ours[1] || minor > known {
		return schemaf("version %s, this reader knows up to %s", version, Version)
	}
	return nil
}

// checkCells says how many places the table's grid has. Cells must lie inside
// it, and cover together no more than twice what there is.
func checkCells(t *Table) (int, error) {
	d := &t.Data
	if d.NumRows < 0 || d.NumCols < 0 {
		return 0, invalidf("%s has a negative size", t.SelfRef)
	}
	if d.NumRows > MaxCells || d.NumCols > MaxCells || d.NumRows*d.NumCols > MaxCells {
		return 0, tooLargef("%s has %d × %d cells", t.SelfRef, d.NumRows, d.NumCols)
	}
	places, covered := d.NumRows*d.NumCols, 0
	for i, c := range d.Cells {
		inside := 0 <= c.StartRow && c.StartRow < c.EndRow && c.EndRow <= d.NumRows &&
			0 <= c.StartCol && c.StartCol < c.EndCol && c.EndCol <= d.NumCols
		if !inside {
			return 0, invalidf("cell %d of %s is not inside its %d × %d places", i, t.SelfRef, d.NumRows, d.NumCols)
		}
		if covered += (c.EndRow - c.StartRow) * (c.EndCol - c.StartCol); covered > 2*places {
			return 0, invalidf("cells of %s cover each other", t.SelfRef)
		}
	}
	// Rows without columns would still cost a row each.
	return max(places, d.NumRows), nil
}

func checkOverlap(t *Table) error {
	taken := make([]bool, t.Data.NumRows*t.Data.NumCols)
	for i, c := range t.Data.Cells {
		if c.RowSpan != c.EndRow-c.StartRow || c.ColSpan != c.EndCol-c.StartCol {
			return invalidf("cell %d of %s has spans that differ from its place", i, t.SelfRef)
		}
		for row := c.StartRow; row < c.EndRow; row++ {
			for col := c.StartCol; col < c.EndCol; col++ {
				place := row*t.Data.NumCols + col
				if taken[place] {
					return invalidf("cell %d of %s covers another one", i, t.SelfRef)
				}
				taken[place] = true
			}
		}
	}
	return nil
}

// checkGrid compares the grid as it was read with the cells.
func checkGrid(t *Table, read [][]Cell) error {
	if read == nil {
		return nil
	}
	same := slices.EqualFunc(t.Data.Grid(), read, func(a, b []Cell) bool {
		return slices.EqualFunc(a, b, sameCell)
	})
	if !same {
		return invalidf("grid of %s differs from its cells", t.SelfRef)
	}
	return nil
}

func sameCell(c, o Cell) bool {
	if (c.BBox == nil) != (o.BBox == nil) || c.BBox != nil && *c.BBox != *o.BBox {
		return false
	}
	c.BBox, c.Ref, o.BBox, o.Ref = nil, nil, nil, nil
	return c == o
}
