// Package corpus measures the converters on documents that others made, against the
// text that other programs read from the same files. scripts/corpus.sh fetches the files
// and the programs, then runs TestCorpus.
//
// # What is compared
//
// Each document, and each reference text, becomes a multiset of words; see [CountWords].
// Each format has its reference programs:
//
//	PDF   pdftotext
//	DOCX  pandoc and docx2txt
//	XLSX  pandoc and SheetJS
//	PPTX  pandoc and officeparser
//
// Two programs differ in what they read: notes, comments, fallbacks of drawings. Recall
// is therefore measured against the words that all of them read, and precision against
// the words that any of them reads. Some parts of office files none of them opens: text
// boxes of sheets, diagrams, charts, comments, notes. Their words count for precision
// too, each as often as the part has it. See [Compare].
//
// Of our own document the text items and the table cells count. The furniture of DOCX
// files does not, because neither reference program reads page headers and footers. The
// notes of PDF files are remarks of the converter, so they do not count either. Markers of
// list items count in PDF files, where they stand on the page.
package corpus
