package document

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/net/html/charset"
)

// archive is an open archive with limits.
type archive struct {
	p     *parser
	files map[string]*zip.File
	left  int64
}

func (p *parser) openArchive(data []byte) (*archive, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, newBrokenError("%w", err)
	}
	if len(z.File) > p.limits.Entries {
		return nil, fmt.Errorf("%w: %d parts; the limit is %d", ErrTooLarge, len(z.File), p.limits.Entries)
	}
	b := &archive{p: p, files: map[string]*zip.File{}, left: p.limits.Unpacked}
	for _, f := range z.File {
		b.files[strings.TrimPrefix(f.Name, "/")] = f
	}
	return b, nil
}

// errNoPart means that an archive has no part with the given name.
var errNoPart = errors.New("a required part is missing")

// readPart decompresses one part. It does not trust the size that the archive declares.
func (b *archive) readPart(name string) ([]byte, error) {
	if err := b.p.ctx.Err(); err != nil {
		return nil, err
	}
	f := b.files[name]
	if f == nil {
		return nil, fmt.Errorf("%w: %.100q", errNoPart, name)
	}
	if f.Flags&1 != 0 { // APPNOTE 4.4.4
		return nil, ErrEncrypted
	}
	most := min(b.left, max(int64(f.CompressedSize64)*b.p.limits.Ratio, 1<<20)) //nolint:gosec // if the product overflows to a negative number, the other bound applies
	r, err := f.Open()
	if err != nil {
		return nil, newBrokenError("%w", err)
	}
	defer r.Close()
	out, err := io.ReadAll(io.LimitReader(r, most+1))
	if int64(len(out)) > most {
		return nil, fmt.Errorf("%w: too many bytes when decompressed", ErrTooLarge)
	}
	if err != nil {
		return nil, newBrokenError("%w", err)
	}
	b.left -= int64(len(out))
	return out, nil
}

// walkXML passes the elements and the text of an XML part to a visitor. As in encoding/xml, an
// entity that the document itself defines is an error.
func (b *archive) walkXML(name string, visit func(*element)) error {
	data, err := b.readPart(name)
	if err != nil {
		return err
	}
	return b.p.walkElements(data, visit)
}

// maxElements is the maximum nesting of elements.
const maxElements = 300

// element is one step of a walk: a start tag, text or an end tag.
type element struct {
	Name  string // local name; for text, the name of the enclosing element
	Attr  []xml.Attr
	Text  string
	Start bool
	End   bool
	Path  []string // names of the enclosing elements, outermost first
}

// In reports whether the element is inside an element with that name.
func (e *element) In(name string) bool {
	for _, p := range e.Path {
		if p == name {
			return true
		}
	}
	return false
}

// Get returns an attribute by its local name.
func (e *element) Get(name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (p *parser) walkElements(data []byte, visit func(*element)) error {
	dec := xml.NewDecoder(bytes.NewReader(data))
	dec.CharsetReader = charset.NewReaderLabel
	var e element
	for n := 0; ; n++ {
		if n%4096 == 0 && p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return newBrokenError("%w", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if len(e.Path) >= maxElements {
				return newBrokenError("XML elements are nested too deeply")
			}
			e.Name, e.Attr, e.Text, e.Start, e.End = t.Name.Local, t.Attr, "", true, false
			visit(&e)
			e.Path = append(e.Path, t.Name.Local)
		case xml.EndElement:
			e.Path = e.Path[:len(e.Path)-1]
			e.Name, e.Attr, e.Text, e.Start, e.End = t.Name.Local, nil, "", false, true
			visit(&e)
		case xml.CharData:
			if len(e.Path) > 0 {
				e.Name, e.Attr, e.Text, e.Start, e.End = e.Path[len(e.Path)-1], nil, string(t), false, false
				visit(&e)
			}
		}
	}
}

// readRelations returns the targets of a part's relationships, by id (ECMA-376 part 2, 8.3) and by
// the last path element of their type.
func (b *archive) readRelations(part string) (byID, byType map[string]string, err error) {
	byID, byType = map[string]string{}, map[string]string{}
	dir := path.Dir(part)
	name := path.Join(dir, "_rels", path.Base(part)+".rels")
	if b.files[name] == nil {
		return byID, byType, nil
	}
	err = b.walkXML(name, func(e *element) {
		if !e.Start || e.Name != "Relationship" || e.Get("TargetMode") == "External" {
			return
		}
		target := e.Get("Target")
		if strings.HasPrefix(target, "/") {
			target = strings.TrimPrefix(target, "/")
		} else {
			target = path.Join(dir, target)
		}
		byID[e.Get("Id")], byType[path.Base(e.Get("Type"))] = target, target
	})
	return byID, byType, err
}

// readCoreProperties reads the title, author and date that Office stores (ECMA-376 part 2, 11). A
// document without them is valid.
func (b *archive) readCoreProperties(d *Document) {
	_ = b.walkXML("docProps/core.xml", func(e *element) {
		if e.Text == "" {
			return
		}
		switch e.Name {
		case "title":
			d.Title += e.Text
		case "creator":
			d.Author += e.Text
		case "language":
			d.Language += e.Text
		case "modified", "created":
			if t := parseDocumentDate(e.Text); !t.IsZero() && (d.At.IsZero() || e.Name == "modified") {
				d.At = t
			}
		}
	})
}
