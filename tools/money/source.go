package money

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hob/knowledge"
	"hob/platform/host/desktop/session"
	"hob/platform/host/ocr"
	"hob/platform/host/osrun"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/document"
	"hob/platform/text/tabular"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// TextReader recognizes the text in a picture; *ocr.Reader implements it.
type TextReader interface {
	Read(ctx context.Context, picture []byte) (string, error)
}

// readText is the text of a file or of an argument.
type readText struct {
	text    string
	source  provenance.Source
	origins []provenance.Origin
}

// readDocument reads the text of a receipt: a text, a picture or a document.
func (d Deps) readDocument(ctx context.Context, c tools.Call, path, text string) (readText, error) {
	path = strings.TrimSpace(path)
	if (path == "") == (strings.TrimSpace(text) == "") {
		return readText{}, tools.Errorf(tools.InvalidArguments, "give exactly one of path and text")
	}
	if path == "" {
		out := readText{text: text, source: provenance.Tool}
		if c.Provenance.Tainted() {
			out.source, out.origins = provenance.Outside, c.Origins
		}
		return out, nil
	}
	f, err := d.openFile(ctx, path, ocr.MaxBytes)
	if err != nil {
		return readText{}, err
	}
	out := readText{source: sourceOfFile(f), origins: f.Origins}
	kind := document.Detect(f.Path, f.Content)
	if kind == "image" {
		out.text, err = d.recognizeText(ctx, f.Content)
		return out, err
	}
	if kind == "text" || kind == "code" || kind == "csv" {
		if out.text, _, err = tabular.Decode(f.Content, ""); err == nil { // keeps the lines as they are
			return out, nil
		}
	}
	parsed, err := document.Parse(ctx, filepath.Base(f.Path), f.Content, document.Limits{File: ocr.MaxBytes, Helper: d.Helper})
	if err != nil {
		return out, classifyDocumentError(err)
	}
	var b strings.Builder
	for _, doc := range parsed.Documents {
		for _, s := range doc.Sections {
			for _, part := range append(append(s.Heading, s.Text, s.Header), s.Rows...) {
				b.WriteString(strings.ReplaceAll(part, " | ", " ") + "\n")
			}
		}
	}
	out.text = b.String()
	return out, nil
}

// openFile reads a file that the user allows.
func (d Deps) openFile(ctx context.Context, path string, limit int64) (knowledge.File, error) {
	if d.Read == nil {
		return knowledge.File{}, tools.Errorf(tools.Unsupported, "files cannot be read here")
	}
	return d.Read(ctx, strings.TrimSpace(path), limit)
}

// sourceOfFile returns the provenance of results that quote a file.
func sourceOfFile(f knowledge.File) provenance.Source {
	if f.Source.Tainted() {
		return provenance.Outside
	}
	return provenance.Tool
}

func (d Deps) recognizeText(ctx context.Context, picture []byte) (string, error) {
	if d.Pictures == nil {
		return "", tools.Errorf(tools.Unsupported, "the text in pictures cannot be read here")
	}
	text, err := d.Pictures.Read(ctx, picture)
	switch {
	case err == nil && strings.TrimSpace(text) == "":
		return "", tools.Errorf(tools.InvalidArguments, "no text was found in the picture; take a sharper photo, or give the text")
	case err == nil:
		return text, nil
	case errors.Is(err, ocr.ErrNoPicture):
		return "", tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(ocr.ErrNoPicture))
	case errors.Is(err, session.ErrNone), errors.Is(err, osrun.ErrNoProgram), errors.Is(err, errors.ErrUnsupported):
		return "", tools.Errorf(tools.Unsupported, "%w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return "", tools.Errorf(tools.TimedOut, "%w", err)
	}
	return "", tools.Errorf(tools.Failed, "%w", err)
}

func classifyDocumentError(err error) error {
	code := tools.Failed
	switch {
	case errors.Is(err, document.ErrNoText):
		return tools.Errorf(tools.InvalidArguments, "the file contains no text; if it is a scan, save the page as a picture (PNG or JPEG)")
	case errors.Is(err, document.ErrUnsupported), errors.Is(err, document.ErrBroken), errors.Is(err, document.ErrEncrypted), errors.Is(err, document.ErrTooLarge):
		code = tools.InvalidArguments
	}
	return tools.Errorf(code, "read the file: %w", err)
}

// vendorKey returns what the names of a vendor have in common in receipts and bank statements: the
// first two words that are longer than one letter and contain no digits.
func vendorKey(vendor string) string {
	var out []string
	for _, w := range textnorm.FoldedWords(vendor) {
		if len(w) > 1 && !strings.ContainsAny(w, "0123456789") && len(out) < 2 {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

// isSameVendor reports whether two names share their first word.
func isSameVendor(a, b string) bool {
	x, _, _ := strings.Cut(vendorKey(a), " ")
	y, _, _ := strings.Cut(vendorKey(b), " ")
	return x != "" && x == y
}

// extendsVendor reports whether one name begins with the words of the other.
func extendsVendor(a, b string) bool {
	x, y := vendorKey(a)+" ", vendorKey(b)+" "
	return x != " " && y != " " && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x))
}

// vendorCategories are the latest categories of vendors, keyed by vendorKey and by its first word.
type vendorCategories map[string]string

// findCategory returns the category of a vendor, "" if it is unknown.
func (v vendorCategories) findCategory(vendor string) string {
	key := vendorKey(vendor)
	first, _, _ := strings.Cut(key, " ")
	if c := v[key]; c != "" || len(first) < 4 { // a short word is not specific enough
		return c
	}
	return v[first]
}

func learnedCategories(q store.Querier) (_ vendorCategories, err error) {
	rows, err := q.Query(`SELECT vendor, category FROM expenses WHERE vendor <> '' AND category <> 'other' ORDER BY day, created_at, id`)
	if err != nil {
		return nil, fmt.Errorf("expenses: read categories: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := vendorCategories{}
	for rows.Next() {
		var vendor, category string
		if err := rows.Scan(&vendor, &category); err != nil {
			return nil, fmt.Errorf("expenses: read categories: %w", err)
		}
		if k := vendorKey(vendor); k != "" {
			first, _, _ := strings.Cut(k, " ")
			out[k], out[first] = category, category
		}
	}
	return out, rows.Err()
}
