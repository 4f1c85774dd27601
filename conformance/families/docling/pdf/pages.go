package pdf

import (
	"math"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// The limits of a page tree, which a malformed file can make endless.
const (
	maxTreeDepth = 64
	maxTreeNodes = 2 * document.MaxPages
)

// A sheet is a page with what it inherits from the tree above it.
type sheet struct {
	page      value
	resources value
	box       [4]float64 // left, bottom, right, top
	rotate    int        // 0, 90, 180 or 270
}

// size is the width and height as the page is shown.
func (s *sheet) size() (width, height float64) {
	width, height = round(s.box[2]-s.box[0]), round(s.box[3]-s.box[1])
	if s.rotate%180 != 0 {
		return height, width
	}
	return width, height
}

// frame turns the coordinates of the content into those of the page as it is
// shown, whose origin is at the bottom on the left.
func (s *sheet) frame() matrix {
	l, b, r, t := s.box[0], s.box[1], s.box[2], s.box[3]
	return matrix{1, 0, 0, 1, -l, -b}.mul(frame(s.rotate, r-l, t-b))
}

// sheets walks the tree of pages. The reader's own way takes time with the
// square of the pages, and does not end where a page is its own parent. It stops
// after page last, if that is not zero; more than most are too many.
func sheets(f *reader, last, most int) ([]sheet, error) {
	var out []sheet
	nodes := 0
	var path []int // the numbers of the nodes above
	circular := false
	var walk func(v value, above sheet, depth int) error
	walk = func(v value, above sheet, depth int) error {
		if last > 0 && len(out) >= last {
			return nil
		}
		if nodes++; nodes > maxTreeNodes || depth > maxTreeDepth {
			return errTree
		}
		if v.ref != 0 && slices.Contains(path, v.ref) {
			circular = true
			return nil // what is its own parent has no place; the others do
		}
		path = append(path, v.ref)
		defer func() { path = path[:len(path)-1] }()
		if res := v.Key("Resources"); res.Kind() == dictKind {
			above.resources = res
		}
		for _, key := range []string{"MediaBox", "CropBox"} {
			if box, ok := rectangle(v.Key(key)); ok {
				above.box = box
			}
		}
		if turned := v.Key("Rotate"); turned.Kind() == numberKind && turned.Int()%90 == 0 {
			above.rotate = (turned.Int()%360 + 360) % 360
		}
		kids := v.Key("Kids")
		if kids.Kind() != arrayKind {
			if v.Kind() == dictKind && v.Key("Type").Name() != "Pages" {
				above.page = v
				if len(out) >= most {
					return ErrTooMuch
				}
				out = append(out, above)
			}
			return nil
		}
		for i := range kids.Len() {
			if err := walk(kids.Index(i), above, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	err := walk(f.root().Key("Pages"), sheet{box: [4]float64{0, 0, 612, 792}}, 0)
	if err == nil && circular && len(out) == 0 {
		err = errTree
	}
	return out, err
}

func rectangle(v value) (box [4]float64, ok bool) {
	if v.Kind() != arrayKind || v.Len() != 4 {
		return box, false
	}
	for i := range box {
		if box[i] = v.Index(i).Float64(); math.IsNaN(box[i]) || math.Abs(box[i]) > 1e6 {
			return box, false
		}
	}
	box[0], box[2] = min(box[0], box[2]), max(box[0], box[2])
	box[1], box[3] = min(box[1], box[3]), max(box[1], box[3])
	return box, box[2] > box[0] && box[3] > box[1]
}
