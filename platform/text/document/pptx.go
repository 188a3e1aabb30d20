package document

import (
	"fmt"
	"strings"
)

// parsePPTX reads the slides of a presentation in their order, each with its notes
// (ECMA-376 part 1, 19).
func (p *parser) parsePPTX(_ string, data []byte) (*Document, error) {
	b, err := p.openArchive(data)
	if err != nil {
		return nil, err
	}
	d := &Document{}
	b.readCoreProperties(d)
	var ids []string
	err = b.walkXML("ppt/presentation.xml", func(e *element) {
		if e.Start && e.Name == "sldId" {
			for _, a := range e.Attr { // "id" is the number of the slide, and "r:id" is the id of its relationship
				if a.Name.Local == "id" && a.Name.Space != "" {
					ids = append(ids, a.Value)
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	parts, _, err := b.readRelations("ppt/presentation.xml")
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if err := b.addSlide(d, parts[id], i+1); err != nil {
			return nil, fmt.Errorf("slide %d: %w", i+1, err)
		}
	}
	return d, nil
}

func (b *archive) addSlide(d *Document, part string, n int) error {
	title, text, err := b.slideTexts(part)
	if err != nil {
		return err
	}
	if d.Title == "" {
		d.Title = title
	}
	place := fmt.Sprintf("slide %d", n)
	if text == "" {
		text = title
	}
	d.Sections = append(d.Sections, Section{Heading: []string{title}, Place: place, Text: text})
	_, related, err := b.readRelations(part)
	if err != nil || related["notesSlide"] == "" {
		return err
	}
	_, notes, err := b.slideTexts(related["notesSlide"])
	if err != nil {
		return err
	}
	d.Sections = append(d.Sections, Section{Heading: []string{title}, Place: "notes of " + place, Text: notes})
	return nil
}

// slideTexts returns a slide's title and its other texts; slide numbers and dates are
// omitted.
func (b *archive) slideTexts(part string) (title, text string, err error) {
	var out, heads []string
	var par strings.Builder
	kind := ""
	err = b.walkXML(part, func(e *element) {
		switch {
		case e.In("Fallback"):
		case e.Start && (e.Name == "sp" || e.Name == "graphicFrame"):
			kind = ""
		case e.Start && e.Name == "ph":
			kind = e.Get("type")
		case e.Start && e.Name == "br":
			par.WriteByte('\n')
		case e.Name == "t" && e.Text != "":
			par.WriteString(e.Text)
		case e.End && e.Name == "p":
			l := strings.TrimSpace(par.String())
			par.Reset()
			switch kind {
			case "title", "ctrTitle":
				heads = append(heads, l)
			case "sldNum", "dt", "ftr", "hdr", "sldImg":
			default:
				if l != "" {
					out = append(out, l)
				}
			}
		}
	})
	return strings.Join(heads, " "), strings.Join(out, "\n"), err
}
