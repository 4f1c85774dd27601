package document

// A Text is any item made of text. Which of the last fields count depends on
// the label: Level for headers; Enumerated and Marker for list items;
// Language, Floating for code; Kind for field values.
type Text struct {
	Item
	Orig       string // as it stood in the source
	Text       string
	Formatting *Formatting
	Hyperlink  string

	Level      int
	Enumerated bool
	Marker     string
	Language   string
	Floating   Floating
	Kind       string
}

// Script is the place of a text relative to its line.
type Script string

// The scripts.
const (
	Baseline    Script = "baseline"
	Subscript   Script = "sub"
	Superscript Script = "super"
)

// Formatting is how a text looks. A nil Formatting is plain.
type Formatting struct {
	Bold          bool   `json:"bold"`
	Italic        bool   `json:"italic"`
	Underline     bool   `json:"underline"`
	Strikethrough bool   `json:"strikethrough"`
	Script        Script `json:"script"`
}

// Normal returns nil for formatting that changes nothing, else a copy with a script.
func (f Formatting) Normal() *Formatting {
	if f.Script == "" {
		f.Script = Baseline
	}
	if f == (Formatting{Script: Baseline}) {
		return nil
	}
	return &f
}

// A Run is a stretch of text of one look within a paragraph. Label is Plain
// when empty, or Code or Formula.
type Run struct {
	Text       string
	Formatting *Formatting
	Hyperlink  string
	Label      Label
}

func (r Run) alike(o Run) bool {
	same := r.Formatting == o.Formatting || r.Formatting != nil && o.Formatting != nil && *r.Formatting == *o.Formatting
	return same && r.Hyperlink == o.Hyperlink && r.Label == o.Label
}

// textWire is the JSON of a text: fields that do not belong to the label are absent.
type textWire struct {
	Item
	Orig         *string     `json:"orig"`
	Text         *string     `json:"text"`
	Formatting   *Formatting `json:"formatting,omitempty"`
	Hyperlink    string      `json:"hyperlink,omitempty"`
	Level        *int        `json:"level,omitempty"`
	Enumerated   *bool       `json:"enumerated,omitempty"`
	Marker       *string     `json:"marker,omitempty"`
	Captions     []Ref       `json:"captions,omitzero"`
	References   []Ref       `json:"references,omitzero"`
	Footnotes    []Ref       `json:"footnotes,omitzero"`
	Image        *Image      `json:"image,omitempty"`
	CodeLanguage *string     `json:"code_language,omitempty"`
	Kind         *string     `json:"kind,omitempty"`
}

func (t *Text) wire() *textWire {
	w := &textWire{Item: t.Item, Orig: &t.Orig, Text: &t.Text, Formatting: t.Formatting, Hyperlink: t.Hyperlink}
	switch t.Label {
	case SectionHeader, FieldHeading:
		level := max(t.Level, 1)
		w.Level = &level
	case ListItem:
		w.Enumerated, w.Marker = &t.Enumerated, &t.Marker
	case Code:
		f := t.Floating.filled()
		w.Captions, w.References, w.Footnotes, w.Image = f.Captions, f.References, f.Footnotes, f.Image
		language := t.Language
		if language == "" {
			language = "unknown"
		}
		w.CodeLanguage = &language
	case FieldValue:
		if t.Kind != "" {
			w.Kind = &t.Kind
		}
	default:
	}
	return w
}

// fill takes what was read; what readers assume when a key is absent is set here.
func (t *Text) fill(w *textWire) error {
	if w.Orig == nil || w.Text == nil {
		return invalidf("%s lacks orig or text", w.SelfRef)
	}
	*t = Text{Item: w.Item, Orig: *w.Orig, Text: *w.Text, Formatting: w.Formatting, Hyperlink: w.Hyperlink}
	t.Floating = Floating{Captions: w.Captions, References: w.References, Footnotes: w.Footnotes, Image: w.Image}
	switch t.Label {
	case SectionHeader, FieldHeading:
		t.Level = 1
	case ListItem:
		t.Marker = "-"
	case Code:
		t.Language, t.Floating = "unknown", t.Floating.filled()
	default:
	}
	for _, set := range []struct {
		from *string
		to   *string
	}{{w.Marker, &t.Marker}, {w.CodeLanguage, &t.Language}, {w.Kind, &t.Kind}} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	if w.Enumerated != nil {
		t.Enumerated = *w.Enumerated
	}
	if w.Level != nil {
		t.Level = *w.Level
	}
	if t.Formatting != nil && t.Formatting.Script == "" {
		t.Formatting.Script = Baseline
	}
	return nil
}

// filled has empty lists where there were none: they are written as [].
func (f Floating) filled() Floating {
	for _, list := range []*[]Ref{&f.Captions, &f.References, &f.Footnotes} {
		if *list == nil {
			*list = []Ref{}
		}
	}
	return f
}
