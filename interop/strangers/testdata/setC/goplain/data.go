package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"net/url"
	"regexp"
	"sort"
	"strings"
	"sync"
)

// The book of the apiary.

type hive struct {
	ID, Name, Yard string
	Frames         int
	QueenYear      int // 0: unknown
	Kilos          float64
	Mites          bool
}

var hives = []hive{
	{"H01", "Linden", "north", 10, 2024, 41.5, false},
	{"H02", "Quarry", "north", 8, 2025, 33.2, false},
	{"H03", "Brook", "north", 9, 2023, 28.9, true},
	{"H04", "Gate", "orchard", 10, 0, 0, false},
	{"H05", "Plum", "orchard", 6, 2025, 19.75, false},
	{"H06", "Pear", "orchard", 7, 2024, 24.1, false},
	{"H07", "Wall", "north", 10, 2022, 37.0, true},
	{"H08", "Elder", "orchard", 5, 2025, 15.3, false},
}

func findHive(id string) *hive {
	for i := range hives {
		if hives[i].ID == id {
			return &hives[i]
		}
	}
	return nil
}

func hiveIDs() []string {
	var ids []string
	for _, h := range hives {
		ids = append(ids, h.ID)
	}
	return ids
}

// book holds the notes, which the tool add_note changes.
type book struct {
	mu    sync.Mutex
	notes map[string]string
}

func newBook() *book {
	return &book{notes: map[string]string{
		"H01": "2026-03-02 Strong cluster, six seams of bees.\n",
		"H02": "2026-03-02 Fed one kilo of candy.\n",
		"H03": "2026-03-05 Mite count 14 in 24 hours.\n",
		"H05": "",
	}}
}

var plants = func() []string {
	trees := []string{"acacia", "alder", "apple", "ash", "birch", "cherry", "chestnut", "hawthorn", "hazel", "linden", "maple", "pear", "plum", "rowan", "willow"}
	kinds := []string{"black", "common", "dwarf", "field", "grey", "mountain", "red", "silver"}
	list := []string{"Löwenzahn", "phacelia", "white clover", "borage"}
	for _, t := range trees {
		for _, k := range kinds {
			list = append(list, k+" "+t)
		}
	}
	sort.Strings(list)
	return list
}()

// framePicture draws a frame: honey cells at the top, brood below.
func framePicture(frame int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, 24, 16))
	for x := 0; x < 24; x++ {
		for y := 0; y < 16; y++ {
			c := color.RGBA{uint8(200 + (x*frame)%55), uint8(140 + (y*7+frame*13)%90), uint8((x*y + frame*31) % 256), 255}
			img.Set(x, y, c)
		}
	}
	return img
}

func pngBytes(img image.Image) []byte {
	var buf bytes.Buffer
	png.Encode(&buf, img)
	return buf.Bytes()
}

func jpegBytes(img image.Image) []byte {
	var buf bytes.Buffer
	jpeg.Encode(&buf, img, nil)
	return buf.Bytes()
}

var logoPNG = pngBytes(framePicture(0))

var hiveNotesURI = regexp.MustCompile(`^hive://(H[0-9]{2})/notes$`)
var hiveWeightsURI = regexp.MustCompile(`^hive://(H[0-9]{2})/weights/([0-9]{4})$`)
var floraURI = regexp.MustCompile(`^apiary://flora/([^/?#]+)$`)

const calendarText = "# Calendar\n\n- March: first look, feed if light\n- May: supers on, swarm checks every week\n- July: harvest\n- August: mite treatment\n"
const yardsText = `{"yards":[{"name":"north","hives":4},{"name":"orchard","hives":4},{"name":"heath","hives":0}]}`

func (b *book) resources() []obj {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := []obj{
		{"uri": "apiary://yards", "name": "yards", "title": "Yards", "mimeType": "application/json", "size": len(yardsText)},
		{"uri": "apiary://calendar", "name": "calendar", "title": "The beekeeper's year", "mimeType": "text/markdown", "size": len(calendarText),
			"annotations": obj{"audience": []string{"user", "assistant"}, "priority": 0.4}},
		{"uri": "apiary://logo.png", "name": "logo", "title": "Logo", "mimeType": "image/png", "size": len(logoPNG)},
	}
	var ids []string
	for id := range b.notes {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		list = append(list, obj{"uri": "hive://" + id + "/notes", "name": "notes-" + id, "title": "Notes on hive " + id,
			"mimeType": "text/plain", "size": len(b.notes[id])})
	}
	return list
}

var templates = []obj{
	{"uriTemplate": "hive://{hive}/notes", "name": "hive-notes", "title": "Notes on a hive", "mimeType": "text/plain"},
	{"uriTemplate": "hive://{hive}/weights/{year}", "name": "hive-weights", "title": "Weights of a year", "mimeType": "text/csv"},
	{"uriTemplate": "apiary://flora/{plant}", "name": "flora", "title": "A plant that bees visit", "mimeType": "text/plain"},
}

// read gives the contents of a resource, or nil.
func (b *book) read(uri string) []obj {
	text := func(mime, s string) []obj {
		c := obj{"uri": uri, "mimeType": mime, "text": s}
		if s == "" && defect("empty-notes-textless") {
			delete(c, "text")
		}
		return []obj{c}
	}
	switch uri {
	case "apiary://yards":
		return text("application/json", yardsText)
	case "apiary://calendar":
		return text("text/markdown", calendarText)
	case "apiary://logo.png":
		return []obj{{"uri": uri, "mimeType": "image/png", "blob": base64.StdEncoding.EncodeToString(logoPNG)}}
	}
	if m := hiveNotesURI.FindStringSubmatch(uri); m != nil {
		b.mu.Lock()
		s, ok := b.notes[m[1]]
		b.mu.Unlock()
		if ok {
			return text("text/plain", s)
		}
		return nil
	}
	if m := hiveWeightsURI.FindStringSubmatch(uri); m != nil {
		h := findHive(m[1])
		if h == nil || m[2] < "2022" || m[2] > "2026" {
			return nil
		}
		var sb strings.Builder
		sb.WriteString("month,kilos\n")
		for i := 3; i <= 9; i++ {
			fmt.Fprintf(&sb, "%s-%02d,%.1f\n", m[2], i, h.Kilos*(0.7+float64(i)/20))
		}
		return text("text/csv", sb.String())
	}
	if m := floraURI.FindStringSubmatch(uri); m != nil {
		name, err := url.PathUnescape(m[1])
		if err != nil {
			return nil
		}
		for _, p := range plants {
			if p == name {
				c := text("text/plain", "Bees visit "+p+" in spring and early summer.\n")
				if defect("unescaped-uri-in-contents") {
					c[0]["uri"] = "apiary://flora/" + name
				}
				return c
			}
		}
	}
	return nil
}

// known tells whether a resource of this address exists or may come to exist.
func (b *book) known(uri string) bool {
	if m := hiveNotesURI.FindStringSubmatch(uri); m != nil {
		return findHive(m[1]) != nil
	}
	return b.read(uri) != nil
}

// addNote reports whether the notes are new, that is, a new resource.
func (b *book) addNote(id, line string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, had := b.notes[id]
	b.notes[id] += line + "\n"
	return !had
}
