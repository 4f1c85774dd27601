package document

import "encoding/json"

// A Ref points to a node of the same document, as in "#/texts/0".
type Ref struct {
	Ref string `json:"$ref"`
}

// A Layer says what a node is to a reader: text, decoration of the page, notes.
type Layer string

// The layers.
const (
	LayerBody       Layer = "body"
	LayerFurniture  Layer = "furniture"
	LayerBackground Layer = "background"
	LayerInvisible  Layer = "invisible"
	LayerNotes      Layer = "notes"
)

// A Label names the kind of a group or an item.
type Label string

// The labels of groups. OrderedList is deprecated: read, never written.
const (
	Unspecified    Label = "unspecified"
	List           Label = "list"
	OrderedList    Label = "ordered_list"
	Chapter        Label = "chapter"
	Section        Label = "section"
	Sheet          Label = "sheet"
	Slide          Label = "slide"
	FormArea       Label = "form_area"
	KeyValueArea   Label = "key_value_area"
	CommentSection Label = "comment_section"
	Inline         Label = "inline"
	PictureArea    Label = "picture_area"
)

// The labels of items.
const (
	TitleLabel         Label = "title"
	SectionHeader      Label = "section_header"
	Plain              Label = "text"
	Paragraph          Label = "paragraph"
	ListItem           Label = "list_item"
	Code               Label = "code"
	Formula            Label = "formula"
	Caption            Label = "caption"
	Footnote           Label = "footnote"
	PageHeader         Label = "page_header"
	PageFooter         Label = "page_footer"
	Reference          Label = "reference"
	CheckboxSelected   Label = "checkbox_selected"
	CheckboxUnselected Label = "checkbox_unselected"
	FieldHeading       Label = "field_heading"
	FieldValue         Label = "field_value"
	PictureLabel       Label = "picture"
	ChartLabel         Label = "chart"
	TableLabel         Label = "table"
	DocumentIndex      Label = "document_index"
)

// A Node is what groups and items have in common: a place in the tree.
type Node struct {
	SelfRef  string `json:"self_ref"`
	Parent   *Ref   `json:"parent,omitempty"`
	Children []Ref  `json:"children"`
	Layer    Layer  `json:"content_layer"`
	Meta     Raw    `json:"meta,omitempty"`
}

// Ref is a reference to the node.
func (n *Node) Ref() Ref { return Ref{n.SelfRef} }

// Base is the node itself: it makes groups and items a Parent.
func (n *Node) Base() *Node { return n }

// A Parent is any group or item.
type Parent interface{ Base() *Node }

// A Group holds nodes together and has no content of its own.
type Group struct {
	Node
	Name  string `json:"name"`
	Label Label  `json:"label"`
}

// An Item is the part that texts, tables, pictures and regions share.
type Item struct {
	Node
	Label    Label  `json:"label"`
	Prov     []Prov `json:"prov"`
	Source   []Raw  `json:"source,omitempty"`
	Comments []Raw  `json:"comments,omitempty"`
}

// A Prov says where on which page an item was found.
type Prov struct {
	PageNo   int    `json:"page_no"`
	BBox     BBox   `json:"bbox"`
	CharSpan [2]int `json:"charspan"`
}

// An Axis says where the coordinates of a box begin.
type Axis string

// The two conventions: a screen's and a PDF page's.
const (
	TopLeft    Axis = "TOPLEFT"
	BottomLeft Axis = "BOTTOMLEFT"
)

// A BBox is a box on a page.
type BBox struct {
	L      float64 `json:"l"`
	T      float64 `json:"t"`
	R      float64 `json:"r"`
	B      float64 `json:"b"`
	Origin Axis    `json:"coord_origin"`
}

// Floating is what items that may carry a caption have in common.
type Floating struct {
	Captions   []Ref  `json:"captions"`
	References []Ref  `json:"references"`
	Footnotes  []Ref  `json:"footnotes"`
	Image      *Image `json:"image,omitempty"`
}

// A Picture is an image in the document; its data is left out unless asked for.
type Picture struct {
	Item
	Floating
	Annotations []Raw `json:"annotations"`
}

// A Region is a form, a key-value area or a field of one. Converters here make
// none; they are read, kept and written again. Their graph is not looked into.
type Region struct {
	Item
	Captions   []Ref  `json:"captions,omitzero"`
	References []Ref  `json:"references,omitzero"`
	Footnotes  []Ref  `json:"footnotes,omitzero"`
	Image      *Image `json:"image,omitempty"`
	Graph      Raw    `json:"graph,omitempty"`
}

// Raw is JSON that is carried along and not understood, without its nulls.
type Raw json.RawMessage
