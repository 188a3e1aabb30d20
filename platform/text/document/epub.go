package document

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// parseEPUB reads a book in the order of its spine (EPUB 3.3,
// https://www.w3.org/TR/epub-33/).
func (p *parser) parseEPUB(_ string, data []byte) (*Document, error) {
	b, err := p.openArchive(data)
	if err != nil {
		return nil, err
	}
	root := ""
	err = b.walkXML("META-INF/container.xml", func(e *element) {
		if e.Start && e.Name == "rootfile" && root == "" {
			root = e.Get("full-path")
		}
	})
	if err != nil {
		return nil, err
	}
	d := &Document{}
	items, spine := map[string]string{}, []string{}
	err = b.walkXML(root, func(e *element) {
		switch {
		case e.Start && e.Name == "item" && strings.Contains(e.Get("media-type"), "html"):
			items[e.Get("id")] = path.Join(path.Dir(root), e.Get("href"))
		case e.Start && e.Name == "itemref":
			spine = append(spine, e.Get("idref"))
		case e.Text != "" && e.In("metadata"):
			d.readMetadata(e)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, id := range spine {
		if items[id] == "" {
			continue
		}
		text, err := b.readPart(items[id])
		if errors.Is(err, errNoPart) {
			continue
		}
		if err != nil {
			return nil, err
		}
		chapter, err := htmlDocument(decodeHTML(text))
		if err != nil {
			if b.files["META-INF/encryption.xml"] != nil {
				return nil, fmt.Errorf("%w (encrypted chapters)", ErrEncrypted)
			}
			return nil, err
		}
		for i, s := range chapter.Sections {
			if len(s.Heading) == 0 && chapter.Title != d.Title {
				chapter.Sections[i].Heading = []string{chapter.Title}
			}
		}
		d.Sections = append(d.Sections, chapter.Sections...)
	}
	return d, nil
}

func (d *Document) readMetadata(e *element) {
	switch text := strings.TrimSpace(e.Text); e.Name {
	case "title":
		if d.Title == "" {
			d.Title = text
		}
	case "creator":
		d.Author = strings.TrimPrefix(d.Author+", "+text, ", ")
	case "language":
		d.Language = text
	case "date":
		d.At = parseDocumentDate(text)
	}
}
