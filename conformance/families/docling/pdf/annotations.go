package pdf

// The flags of an annotation that is not shown.
const (
	flagHidden = 1 << 1
	flagNoView = 1 << 5
)

// maxAnnotations is how many annotations of a page are drawn.
const maxAnnotations = 10_000

// annotations draws what annotations show on the page: the entries of forms,
// stamps, text typed on it. Notes that pop up are no part of it.
func (in *interpreter) annotations(list value, frame matrix) {
	for i := range min(list.Len(), maxAnnotations) {
		a := list.Index(i)
		look := a.Key("AP").Key("N")
		if look.Kind() == dictKind { // one for each state, as of a check box
			look = look.Key(a.Key("AS").Name())
		}
		if look.Kind() != streamKind || a.Key("Subtype").Name() == "Popup" || a.Key("F").Int()&(flagHidden|flagNoView) != 0 {
			continue
		}
		if in.operators += objectCost; in.operators > maxOperators {
			panic(ErrTooMuch) // see read
		}
		place, ok := rectangle(a.Key("Rect"))
		bounds, bounded := rectangle(look.Key("BBox"))
		if !ok || !bounded {
			continue
		}
		in.form(look, value{}, into(matrixIn(look).box(box{bounds[0], bounds[1], bounds[2], bounds[3]}), place).mul(frame), 1)
	}
}

// into is the matrix that makes a box fill a place.
func into(b box, place [4]float64) matrix {
	m := identity
	if b.r > b.l {
		m[0] = (place[2] - place[0]) / (b.r - b.l)
	}
	if b.t > b.b {
		m[3] = (place[3] - place[1]) / (b.t - b.b)
	}
	m[4], m[5] = place[0]-b.l*m[0], place[1]-b.b*m[3]
	return m
}
