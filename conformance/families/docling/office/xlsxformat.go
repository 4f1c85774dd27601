package office

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"
)

// formats shows numbers and dates as the formats of their cells say. Excelize
// does it, in the one cell of a workbook of its own: the formats have thousands
// of special cases.
type formats struct {
	file   *excelize.File
	codes  map[int]string     // custom formats by their number
	cells  []int              // the format of a cell by its style
	styles map[int]int        // the style that shows a format
	shown  map[shownAs]string // what was shown before
	date04 bool               // days count from 1904
	last   int                // the style of the cell now
}

// A shownAs is a value in a format.
type shownAs struct {
	format int
	value  string
}

const (
	onlySheet = "Sheet1"
	onlyCell  = "A1"
	maxShown  = 10_000 // values that are remembered
	maxFormat = 255    // characters of a format, by the format of files
)

func newFormats(styles *element, date1904 bool) *formats {
	f := &formats{codes: map[int]string{}, styles: map[int]int{}, shown: map[shownAs]string{}, date04: date1904}
	for _, e := range styles.child("numFmts").all("numFmt") {
		if code := e.attr("formatCode"); len(code) <= 4*maxFormat {
			f.codes[number(e.attr("numFmtId"), -1)] = code
		}
	}
	for _, e := range styles.child("cellXfs").all("xf") {
		f.cells = append(f.cells, number(e.attr("numFmtId"), 0))
	}
	return f
}

func (f *formats) close() {
	if f.file != nil {
		_ = f.file.Close() // it only closes temporary files, of which there are none
	}
}

// format is the number of a style's format, 0 for the general one.
func (f *formats) format(style int) int {
	if style < 0 || style >= len(f.cells) || strings.EqualFold(f.codes[f.cells[style]], "general") {
		return 0
	}
	return f.cells[style]
}

// number is a number in the format of a style.
func (f *formats) number(style int, raw string) string {
	value, err := strconv.ParseFloat(raw, 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return raw
	}
	format := f.format(style)
	if format == 0 {
		return general(value)
	}
	key := shownAs{format, raw}
	text, ok := f.shown[key]
	if !ok {
		if text, ok = f.show(format, value); !ok {
			text = general(value)
		}
		if len(f.shown) < maxShown {
			f.shown[key] = text
		}
	}
	return text
}

// codedFormats is where the numbers of formats begin that are known by their code
// alone; styles have others.
const codedFormats = 10_000

// coded is a number in a format given by its code.
func (f *formats) coded(code, raw string) string {
	if code == "" || len(code) > 4*maxFormat || strings.EqualFold(code, "general") {
		return f.number(-1, raw)
	}
	style := slices.IndexFunc(f.cells, func(format int) bool { return f.codes[format] == code })
	if style < 0 {
		style = len(f.cells)
		f.cells = append(f.cells, codedFormats+style)
		f.codes[codedFormats+style] = code
	}
	return f.number(style, raw)
}

// date is a date of ISO 8601 in the format of a style.
func (f *formats) date(style int, raw string) string {
	for _, layout := range []string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02", "15:04:05.999999999"} {
		at, err := time.Parse(layout, raw)
		if err != nil || f.format(style) == 0 {
			continue
		}
		from := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
		if f.date04 {
			from = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		if at.Year() == 0 { // a time of no day
			from = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		return f.number(style, strconv.FormatFloat(at.Sub(from).Hours()/24, 'f', -1, 64))
	}
	return raw
}

// generalWidth is how many characters of a fraction a cell without a format shows.
const generalWidth = 11

// general is a number as a cell without a format shows it, but for the width of
// the column: a whole number with all its digits, a fraction rounded.
func general(value float64) string {
	value, _ = strconv.ParseFloat(strconv.FormatFloat(value, 'g', 15, 64), 64)
	size := math.Abs(value)
	text := strconv.FormatFloat(size, 'f', -1, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	switch {
	case size >= 1e21:
		text = strconv.FormatFloat(size, 'E', -1, 64)
	case fraction == "" || len(text) <= generalWidth:
	case size < 1e-4:
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(size, 'E', 5, 64), "E")
		text = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".") + "E" + exponent
	default:
		text = strconv.FormatFloat(size, 'f', max(generalWidth-1-len(whole), 0), 64)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
	}
	if value < 0 {
		return "-" + text
	}
	return text
}

// show shows a number in a format; not ok when the format cannot be understood.
func (f *formats) show(format int, value float64) (text string, ok bool) {
	defer func() {
		if recover() != nil { // a format that confuses excelize
			text, ok = "", false
		}
	}()
	if f.file == nil {
		f.file = excelize.NewFile()
		if f.file.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &f.date04}) != nil {
			return "", false
		}
	}
	style, known := f.styles[format]
	if !known {
		wanted := &excelize.Style{NumFmt: format}
		if code, custom := f.codes[format]; custom {
			wanted = &excelize.Style{CustomNumFmt: &code}
		}
		var err error
		if style, err = f.file.NewStyle(wanted); err != nil {
			style = 0
		}
		f.styles[format] = style
	}
	if style == 0 {
		return "", false
	}
	if style != f.last {
		if f.file.SetCellStyle(onlySheet, onlyCell, onlyCell, style) != nil {
			return "", false
		}
		f.last = style
	}
	if f.file.SetCellFloat(onlySheet, onlyCell, value, -1, 64) != nil {
		return "", false
	}
	text, err := f.file.GetCellValue(onlySheet, onlyCell)
	return text, err == nil
}
