package office

import (
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// A chart is what a chart shows: its title, and its series with their values.
type chart struct {
	title  string
	axis   string   // the title of the axis of categories
	others []string // titles of other axes
	series []series
}

// A series is a column of values, and what each is the value of.
type series struct {
	name               string
	categories, values []string
}

// addChart adds the chart of a part, as a table with the title as its caption:
// a row for each category and a column for each series. Series with categories of
// their own get a table of their own. Without data it is a picture.
func (p *parts) addChart(b *document.Builder, parent document.Parent, name string) error {
	c, err := p.chart(name)
	if err != nil {
		return err
	}
	if len(c.series) == 0 {
		b.Drop(document.LostCharts, 1)
		picture := b.Picture(parent, nil)
		picture.Label = document.ChartLabel
		if c.title != "" {
			b.PictureCaption(picture, c.title)
		}
	}
	if c.axis != "" && (len(c.series) == 0 || len(c.series[0].categories) == 0) {
		c.others = append(c.others, c.axis)
	}
	for first, rest := true, c.series; len(rest) > 0; first = false {
		n := 1
		for n < len(rest) && (len(rest[n].categories) == 0 || slices.Equal(rest[n].categories, rest[0].categories)) {
			n++
		}
		data, err := chartTable(c.axis, rest[:n])
		if err != nil {
			return err
		}
		table := b.Table(parent, data)
		if first && c.title != "" {
			b.TableCaption(table, c.title)
		}
		rest = rest[n:]
	}
	for _, title := range c.others {
		b.Paragraph(parent, title)
	}
	return nil
}

// chartTable lays out series with the same categories; without any there is no column
// for them.
func chartTable(axis string, list []series) (document.TableData, error) {
	columns := make([][]string, 0, len(list)+1)
	if categories := list[0].categories; len(categories) > 0 {
		columns = append(columns, append([]string{axis}, categories...))
	}
	labels := len(columns)
	rows := 0
	for _, s := range list {
		columns = append(columns, append([]string{s.name}, s.values...))
	}
	for _, column := range columns {
		rows = max(rows, len(column))
	}
	c := newCells()
	for row := range rows {
		for col, column := range columns {
			if err := c.add(row, col, 1, 1, at(column, row)); err != nil {
				return document.TableData{}, err
			}
			c.list[len(c.list)-1].RowHeader = row > 0 && col < labels
		}
	}
	return c.data(rows, nil)
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// chart reads the part of a chart, of either of the two forms (chart, chartex). A
// part that is not there is a chart without data.
func (p *parts) chart(name string) (*chart, error) {
	root, err := p.tree(name)
	if err != nil {
		return nil, err
	}
	// Numbers are shown in their own formats.
	r := &chartReader{parts: p, shown: newFormats(nil, root.child("date1904").on())}
	defer r.shown.close()
	content := root.child("chart")
	c := &chart{title: r.title(content.child("title"))}
	area := content.child("plotArea")
	for _, kid := range area.children() {
		if !strings.HasSuffix(kid.name, "Ax") && kid.name != "axis" {
			for _, ser := range kid.all("ser") {
				c.series = append(c.series, r.series(ser)...)
			}
			continue
		}
		switch title := r.title(kid.child("title")); {
		case title == "":
		case c.axis == "" && (kid.name == "catAx" || kid.name == "dateAx" || kid.child("catScaling") != nil):
			c.axis = title
		default:
			c.others = append(c.others, title)
		}
	}
	if data := root.child("chartData"); data != nil {
		c.series = append(c.series, r.extended(area.child("plotAreaRegion"), data)...)
	}
	return c, r.err
}

// chartReader reads the series of a chart.
type chartReader struct {
	parts *parts
	shown *formats
	err   error // the first
}

// title is that of a chart or an axis, as it was written or as a cell has it.
func (r *chartReader) title(e *element) string {
	tx := e.child("tx")
	if rich := tx.child("rich"); rich != nil {
		return strings.Join(drawnText(rich), "\n")
	}
	return r.name(tx)
}

// name is a text that is in a cell of the data, or only here.
func (r *chartReader) name(tx *element) string {
	for _, v := range []*element{tx.child("v"), tx.child("txData", "v")} {
		if v != nil {
			return strings.TrimSpace(v.text)
		}
	}
	return strings.Join(r.points(tx), " ")
}

// series reads one of a chart. The sizes of bubbles are a series beside it.
func (r *chartReader) series(ser *element) []series {
	s := series{name: r.name(ser.child("tx"))}
	for _, kid := range ser.children() {
		switch kid.name {
		case "cat", "xVal":
			s.categories = r.points(kid)
		case "val", "yVal":
			s.values = r.points(kid)
		}
	}
	if len(s.values) == 0 {
		return nil
	}
	list := []series{s}
	if sizes := r.points(ser.child("bubbleSize")); len(sizes) > 0 {
		list = append(list, series{strings.TrimSpace(s.name + " (size)"), s.categories, sizes})
	}
	return list
}

// points are the values that a chart keeps of a range of cells, by their place.
func (r *chartReader) points(e *element) []string {
	for _, path := range [][]string{{"strRef", "strCache"}, {"numRef", "numCache"}, {"strLit"}, {"numLit"}} {
		if list := r.level(e.child(path...)); len(list) > 0 {
			return list
		}
	}
	var joined []string
	for _, lvl := range e.child("multiLvlStrRef", "multiLvlStrCache").all("lvl") { // the innermost first
		joined = within(joined, r.level(lvl))
	}
	if len(joined) == 0 {
		return r.resolved(e)
	}
	return joined
}

// resolved are the values of the cells that a series refers to.
func (r *chartReader) resolved(e *element) []string {
	for _, kind := range []string{"strRef", "numRef"} {
		f := e.child(kind, "f")
		if f == nil || r.parts.resolve == nil || r.err != nil {
			continue
		}
		var list []string
		if list, r.err = r.parts.resolve(strings.TrimSpace(f.text)); r.err != nil {
			return nil
		}
		if r.count(len(list)); r.err == nil {
			return list
		}
	}
	return nil
}

// count holds the number of points against the limit.
func (r *chartReader) count(more int) {
	if r.parts.points += more; r.parts.points > document.MaxCells {
		r.err = failf(StageParse, TooLarge, "over %d points in charts", document.MaxCells)
	}
}

// within puts the names of a level before those of the levels in it: a name holds
// until the next.
func within(inner, outer []string) []string {
	name := ""
	for i := range inner {
		if own := at(outer, i); own != "" {
			name = own
		}
		inner[i] = strings.TrimSpace(name + " " + inner[i])
	}
	if inner == nil {
		return outer
	}
	return inner
}

// level are the points of one list.
func (r *chartReader) level(cache *element) []string {
	if cache == nil {
		return nil
	}
	code := cache.attr("formatCode")
	if e := cache.child("formatCode"); e != nil {
		code = e.text
	}
	var list []string
	for _, pt := range cache.all("pt") {
		i := number(pt.attr("idx"), len(list))
		if i < 0 {
			continue
		}
		if r.count(max(i+1-len(list), 0)); r.err != nil {
			return nil
		}
		text := pt.text
		if v := pt.child("v"); v != nil {
			text = v.text
		}
		if strings.HasPrefix(cache.name, "num") || code != "" {
			text = r.shown.coded(code, text)
		}
		for len(list) <= i {
			list = append(list, "")
		}
		list[i] = strings.TrimSpace(text)
	}
	return list
}

// extended reads those of the newer kinds of charts (chartex), which name
// their data by an id.
func (r *chartReader) extended(area, data *element) (list []series) {
	byID := map[string]*element{}
	for _, d := range data.all("data") {
		byID[d.attr("id")] = d
	}
	for _, ser := range area.all("series") {
		s := series{name: r.name(ser.child("tx"))}
		for _, dim := range byID[ser.child("dataId").attr("val")].children() {
			var joined []string
			for _, lvl := range dim.all("lvl") {
				joined = within(joined, r.level(lvl))
			}
			switch dim.name {
			case "strDim":
				s.categories = joined
			case "numDim":
				s.values = joined
			}
		}
		if len(s.values) > 0 {
			list = append(list, s)
		}
	}
	return list
}
