package office

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// The characters of checkboxes.
const ticks = "☐☑☒"

func ticked(on bool) document.Label {
	if on {
		return document.CheckboxSelected
	}
	return document.CheckboxUnselected
}

// unticked is the label of a checkbox: the text without the box before or after it.
func unticked(text string) string {
	if short := strings.TrimLeft(text, ticks); short != text {
		return strings.TrimSpace(short)
	}
	return strings.TrimSpace(strings.TrimRight(text, ticks))
}

// formField adds what a field of an old form shows and no run says: a checkbox,
// or the chosen entry of a list.
func (r *runs) formField(data *element, look *document.Formatting, to string) {
	text := ""
	switch box, list := data.child("checkBox"), data.child("ddList"); {
	case box != nil:
		state := box.child("checked")
		if state == nil {
			state = box.child("default")
		}
		text = "☐"
		if state.on() {
			text = "☒"
		}
		r.ticks = append(r.ticks, ticked(state.on()))
	case list != nil:
		chosen := list.child("result")
		if chosen == nil {
			chosen = list.child("default")
		}
		entries := list.all("listEntry")
		if i := number(chosen.attr("val"), 0); 0 <= i && i < len(entries) {
			text = entries[i].attr("val")
		}
	}
	r.add(document.Run{Text: text, Formatting: look, Hyperlink: to})
}
