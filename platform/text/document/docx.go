package document

import (
	"strconv"
	"strings"
)

// parseDOCX reads a Word document (ECMA-376 part 1, 17): headings by their styles,
// tables row by row, footnotes and endnotes at the end. It omits hidden and
// deleted text.
func (p *parser) parseDOCX(_ string, data []byte) (*Document, error) {
	b, err := p.openArchive(data)
	if err != nil {
		return nil, err
	}
	d := &Document{}
	b.readCoreProperties(d)
	levels, err := b.headingStyles()
	if err != nil {
		return nil, err
	}
	w := &wordReader{levels: levels, d: d}
	if err := b.walkXML("word/document.xml", w.visitElement); err != nil {
		return nil, err
	}
	for _, notes := range []string{"word/footnotes.xml", "word/endnotes.xml"} {
		if b.files[notes] != nil {
			w.out.startHeading(1, "Notes")
			if err := b.walkXML(notes, w.visitElement); err != nil {
				return nil, err
			}
		}
	}
	d.Sections = w.out.finishSections()
	return d, nil
}

// headingStyles returns the heading level of each heading style by its id. The id may be
// translated, but the name of the style is always "heading 1" and so on.
func (b *archive) headingStyles() (map[string]int, error) {
	out := map[string]int{}
	if b.files["word/styles.xml"] == nil {
		return out, nil
	}
	id := ""
	err := b.walkXML("word/styles.xml", func(e *element) {
		switch {
		case !e.Start:
		case e.Name == "style":
			id = e.Get("styleId")
		case e.Name == "name" && e.In("style"):
			name := strings.ToLower(e.Get("val"))
			if n, ok := strings.CutPrefix(name, "heading "); ok {
				if level, err := strconv.Atoi(n); err == nil {
					out[id] = level
				}
			} else if name == "title" {
				out[id] = 1
			}
		case e.Name == "outlineLvl" && e.In("style"):
			if level, err := strconv.Atoi(e.Get("val")); err == nil && level < 9 && out[id] == 0 {
				out[id] = level + 1
			}
		}
	})
	return out, err
}

// wordReader gathers paragraphs.
type wordReader struct {
	levels map[string]int
	d      *Document
	out    sectionBuilder
	par    strings.Builder
	level  int
	hidden bool
	cells  []string
	table  int
}

func (w *wordReader) visitElement(e *element) {
	if e.In("Fallback") || e.In("del") || e.In("moveFrom") {
		return
	}
	switch {
	case e.Start:
		w.startElement(e)
	case e.End:
		w.endElement(e)
	case e.Name == "t" && !w.hidden:
		w.par.WriteString(e.Text)
	}
}

func (w *wordReader) startElement(e *element) {
	switch e.Name {
	case "p":
		w.level = 0
	case "r":
		w.hidden = false
	case "vanish":
		w.hidden = e.In("r") && e.Get("val") != "0" && e.Get("val") != "false"
	case "pStyle":
		w.level = w.levels[e.Get("val")]
	case "outlineLvl":
		if n, err := strconv.Atoi(e.Get("val")); err == nil && n < 9 {
			w.level = n + 1
		}
	case "tab":
		w.par.WriteByte('\t')
	case "br", "cr":
		w.par.WriteByte('\n')
	case "tbl":
		w.table++
	}
}

func (w *wordReader) endElement(e *element) {
	switch e.Name {
	case "p":
		text := strings.TrimSpace(w.par.String())
		switch {
		case w.table > 0:
			w.par.WriteByte(' ')
			return
		case w.level > 0 && text != "":
			w.out.startHeading(w.level, text)
			if w.d.Title == "" {
				w.d.Title = text
			}
		case text != "":
			w.out.addLine(text)
			w.out.addLine("")
		}
		w.par.Reset()
	case "tc":
		w.cells = append(w.cells, w.par.String())
		w.par.Reset()
	case "tr":
		if l := joinCells(w.cells); l != "" {
			w.out.addLine(l)
		}
		w.cells = nil
	case "tbl":
		if w.table--; w.table == 0 {
			w.out.addLine("")
		}
	}
}
