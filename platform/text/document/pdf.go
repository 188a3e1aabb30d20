package document

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/unicode/norm"
)

// parsePDF reads the text of all pages. It must run only in the worker, because the library trusts
// the sizes in the file and cannot be canceled.
func (p *parser) parsePDF(data []byte) (*Document, error) {
	if i := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-")); i > 0 {
		data = data[i:] // ISO 32000-1 allows other bytes before the header, but the library does not
	}
	if err := p.checkInflatedSize(data); err != nil {
		return nil, err
	}
	return p.parsePages(data)
}

// checkInflatedSize checks the decompressed size of all streams before any of them is read.
func (p *parser) checkInflatedSize(data []byte) error {
	left := p.limits.Unpacked
	for rest := data; ; {
		i := bytes.Index(rest, []byte("stream"))
		if i < 0 {
			return nil
		}
		rest = bytes.TrimLeft(rest[i+len("stream"):], "\r\n")
		z, err := zlib.NewReader(bytes.NewReader(rest))
		if err != nil {
			continue
		}
		n, _ := io.Copy(io.Discard, io.LimitReader(z, left+1))
		if left -= n; left < 0 {
			return fmt.Errorf("%w: more than %d bytes when decompressed", ErrTooLarge, p.limits.Unpacked)
		}
		if err := p.ctx.Err(); err != nil {
			return err
		}
	}
}

func (p *parser) parsePages(data []byte) (*Document, error) {
	r, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword), err != nil && bytes.Contains(data, []byte("/Encrypt")):
		return nil, ErrEncrypted
	case err != nil:
		return nil, newBrokenError("%w", err)
	}
	d := &Document{}
	info := r.Trailer().Key("Info")
	d.Title, d.Author, d.At = info.Key("Title").Text(), info.Key("Author").Text(), pdfDate(info.Key("CreationDate").Text())
	d.Language = r.Trailer().Key("Root").Key("Lang").Text()
	pages := min(r.NumPage(), p.limits.Entries)
	failed, left, size := error(nil), p.limits.Unpacked, 0
	for n := 1; n <= pages; n++ {
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
		page := r.Page(n)
		if page.V.IsNull() {
			break
		}
		text, err := pageText(page, &left)
		if errors.Is(err, ErrTooLarge) {
			return nil, err
		}
		if err != nil {
			failed = fmt.Errorf("page %d: %w", n, err)
			continue
		}
		d.Sections = append(d.Sections, Section{Place: fmt.Sprintf("page %d", n), Text: text})
		if size += len(text); size > p.limits.Text {
			d.Cut = true
			break
		}
	}
	if len(d.Sections) == 0 && failed != nil {
		return nil, failed
	}
	if failed != nil {
		p.skipped = append(p.skipped, Skipped{Name: "a page", Err: failed})
	}
	return d, nil
}

// pageText joins the glyphs of a page. A change of the vertical position starts a new line, and a
// gap wider than a quarter of the font size is a space.
func pageText(page pdf.Page, left *int64) (text string, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = newBrokenError("%.200v", x)
		}
	}()
	if err := measureStream(page.V.Key("Contents"), left); err != nil {
		return "", err
	}
	for _, name := range page.Fonts() {
		if err := measureStream(page.Font(name).V.Key("ToUnicode"), left); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	var last pdf.Text
	for i, t := range page.Content().Text {
		size := math.Max(math.Abs(t.FontSize), 1)
		drop := last.Y - t.Y
		switch {
		case i == 0:
		case math.Abs(drop) > 1.9*size:
			b.WriteString("\n\n")
		case math.Abs(drop) > 0.5*size:
			b.WriteString("\n")
		case last.W > 0 && t.X-last.X-last.W > 0.25*size && last.S != " " && t.S != " ":
			b.WriteString(" ")
		case t.X < last.X-size:
			b.WriteString(" ")
		}
		b.WriteString(t.S)
		last = t
	}
	return expandLigatures(b.String()), nil
}

// measureStream decompresses a stream as the library would, up to the limit, and subtracts the size
// from left.
func measureStream(v pdf.Value, left *int64) error {
	for i := range v.Len() {
		if err := measureStream(v.Index(i), left); err != nil {
			return err
		}
	}
	if v.Kind() != pdf.Stream {
		return nil
	}
	n, _ := io.Copy(io.Discard, io.LimitReader(v.Reader(), *left+1)) // ignore the error: a broken stream is reported when the page is read
	if *left -= n; *left < 0 {
		return fmt.Errorf("%w: too many bytes when decompressed", ErrTooLarge)
	}
	return nil
}

// expandLigatures replaces ligatures ("ﬁ") by letters and rejoins words that are hyphenated at the
// end of a line.
func expandLigatures(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 0xfb00 && r <= 0xfb06 { // Alphabetic Presentation Forms
			b.WriteString(norm.NFKC.String(string(r)))
			continue
		}
		b.WriteRune(r)
	}
	lines := strings.Split(norm.NFC.String(b.String()), "\n")
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), "\u00ad\n", "")
}

// pdfDate reads "D:20260102150405+01'00'" (ISO 32000-1, 7.9.4).
func pdfDate(s string) time.Time {
	s = strings.TrimPrefix(strings.TrimSpace(s), "D:")
	s = strings.TrimRight(strings.ReplaceAll(s, "'", ""), " ")
	for _, layout := range []string{"20060102150405-0700", "20060102150405Z0000", "20060102150405Z", "20060102150405", "200601021504", "20060102"} {
		if t, err := time.Parse(layout, s); err == nil {
			return plausibleTime(t)
		}
	}
	return time.Time{}
}
