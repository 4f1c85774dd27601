package document

import (
	"fmt"
	"slices"
)

// A Loss is something that conversions drop, as a sentence about one and about
// several. It names no content: sentences go to the log.
type Loss struct {
	One  string
	Many string // with %d for the number
}

// What is dropped of any format.
var (
	LostPictures  = Loss{"1 picture has no text: what it shows was not read.", "%d pictures have no text: what they show was not read."}
	LostCharts    = Loss{"1 chart was dropped: its data are not in the file.", "%d charts were dropped: their data are not in the file."}
	LostObjects   = Loss{"1 embedded file was dropped.", "%d embedded files were dropped."}
	LostMedia     = Loss{"1 video or sound was dropped.", "%d videos or sounds were dropped."}
	LostFrames    = Loss{"1 embedded page was dropped: frames are not fetched.", "%d embedded pages were dropped: frames are not fetched."}
	LostDrawings  = Loss{"1 drawing was dropped.", "%d drawings were dropped."}
	LostDocuments = Loss{"1 inserted document (altChunk) was dropped with its text.", "%d inserted documents (altChunk) were dropped with their text."}
	LostReadings  = Loss{"1 reading above text (ruby) was dropped.", "%d readings above text (ruby) were dropped."}
)

// losses are what was dropped: sentences, and counts in the order in which each kind
// was first.
type losses struct {
	said   []string
	kinds  []Loss
	counts map[Loss]int
}

// Lost notes in a sentence of its own what the conversion left out, with how much. It
// names no content: sentences go to the log.
func (b *Builder) Lost(format string, args ...any) {
	b.lost.said = append(b.lost.said, fmt.Sprintf(format, args...))
}

// Drop notes that the conversion left out n more of something.
func (b *Builder) Drop(what Loss, n int) {
	if n <= 0 {
		return
	}
	if b.lost.counts == nil {
		b.lost.counts = make(map[Loss]int)
	}
	if !slices.Contains(b.lost.kinds, what) {
		b.lost.kinds = append(b.lost.kinds, what)
	}
	b.lost.counts[what] += n
}

// DropPictures notes the pictures that have no caption, and so no text. Charts are
// noted as such.
func (b *Builder) DropPictures() {
	n := 0
	for _, p := range b.doc.Pictures {
		if p.Label == PictureLabel && len(p.Captions) == 0 {
			n++
		}
	}
	b.Drop(LostPictures, n)
}

// sentences are what was dropped, with the numbers; nil is nothing.
func (l *losses) sentences() []string {
	list := slices.Clone(l.said)
	for _, kind := range l.kinds {
		if n := l.counts[kind]; n > 1 {
			list = append(list, fmt.Sprintf(kind.Many, n))
			continue
		}
		list = append(list, kind.One)
	}
	return list
}
