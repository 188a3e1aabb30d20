package document

import (
	"net/url"
	"strings"

	"hob/platform/text/lazyregexp"
	"hob/platform/text/readability"
)

var (
	atx     = lazyregexp.New(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	mdLink  = lazyregexp.New(`!?\[([^\]\n]*)\]\([^)\n]*\)`)
	comment = lazyregexp.New(`(?s)<!--.*?-->`)
)

// parseMarkdown parses headings, front matter and text. It drops link targets and comments, because
// readers do not see them (https://spec.commonmark.org/0.31.2/).
func (p *parser) parseMarkdown(_ string, data []byte) (*Document, error) {
	s, err := decodeOrError(data)
	if err != nil {
		return nil, err
	}
	d := &Document{}
	s = comment.ReplaceAllString(readFrontMatter(d, s), "")
	d.Sections = splitAtHeadings(s)
	if d.Title == "" {
		for _, sec := range d.Sections {
			if len(sec.Heading) > 0 {
				d.Title = sec.Heading[0]
				break
			}
		}
	}
	return d, nil
}

// splitAtHeadings splits a text at its headings.
func splitAtHeadings(s string) []Section {
	b := &sectionBuilder{}
	lines := strings.Split(s, "\n")
	fenced := ""
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		trim := strings.TrimSpace(l)
		if fenced != "" {
			if strings.HasPrefix(trim, fenced) {
				fenced = ""
			}
			b.addLine(l)
			continue
		}
		if strings.HasPrefix(trim, "```") || strings.HasPrefix(trim, "~~~") {
			fenced = trim[:3]
			b.addLine(l)
			continue
		}
		if m := atx.FindStringSubmatch(l); m != nil {
			b.startHeading(len(m[1]), stripLinkTargets(m[2]))
			continue
		}
		if trim != "" && (i == 0 || strings.TrimSpace(lines[i-1]) == "") && i+1 < len(lines) && isUnderline(lines[i+1], trim) && !strings.ContainsAny(trim[:1], "-*>|") {
			level := 2
			if strings.Contains(lines[i+1], "=") {
				level = 1
			}
			b.startHeading(level, stripLinkTargets(trim))
			i++
			continue
		}
		b.addLine(stripLinkTargets(l))
	}
	return b.finishSections()
}

// stripLinkTargets replaces each link by its text.
func stripLinkTargets(l string) string { return mdLink.ReplaceAllString(l, "$1") }

// readFrontMatter reads the front matter and returns the text that follows it. It evaluates only
// lines that consist of a key and a plain value.
func readFrontMatter(d *Document, s string) string {
	rest, ok := strings.CutPrefix(s, "---\n")
	if !ok {
		return s
	}
	head, body, ok := strings.Cut(rest, "\n---")
	if !ok || len(head) > 20_000 {
		return s
	}
	for l := range strings.Lines(head) {
		key, value, ok := strings.Cut(l, ":")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		if !ok || value == "" {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "title":
			d.Title = value
		case "author":
			d.Author = value
		case "date", "created":
			d.At = parseDocumentDate(value)
		case "lang", "language":
			d.Language = value
		}
	}
	_, body, _ = strings.Cut(body, "\n")
	return body
}

// parseHTML extracts the text that readers of a page see.
func (p *parser) parseHTML(_ string, data []byte) (*Document, error) {
	return htmlDocument(decodeHTML(data))
}

func htmlDocument(s string) (*Document, error) {
	page, err := readability.HTML(s, (*url.URL)(nil))
	if err != nil {
		return nil, newBrokenError("%w", err)
	}
	return &Document{Title: page.Title, Author: page.Author, Language: page.Language, At: parseDocumentDate(page.Date), Sections: splitAtHeadings(page.Text)}, nil
}
